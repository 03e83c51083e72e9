A=$((2*(3+X)))
B=${A:-${C:-"x"}}
A+=$B`pwd`
case $A in
 a) X=1;;
esac
if [ $A -gt 2 ] && [[ -z "$B" ]]; then L=(--bf16 $A); elif true; then L+=(--fp16)
else
L=()
fi
cat <<EOF
x
EOF
run "${L[@]}" ${L[*]} $@ --seq-length $A
