#!/bin/bash
#SBATCH --nodes=8
# Llama 3 8B on 8 nodes. Written for the tests, in the form of the scripts in Megatron-LM's examples.

export CUDA_DEVICE_MAX_CONNECTIONS=1

CHECKPOINT_PATH=${1:-"checkpoints/llama3_8b"}
GPUS_PER_NODE=8
NUM_NODES=${NUM_NODES:-8}
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
MASTER_ADDR=${MASTER_ADDR:-localhost}

TP_SIZE=2
DTYPE="fp8"

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES
    --master_addr $MASTER_ADDR
)

MODEL_ARGS=(
    --use-mcore-models
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --group-query-attention
    --num-query-groups 8
    --kv-channels 128
    --seq-length 8192
    --max-position-embeddings 8192
    --position-embedding-type rope
    --swiglu
    --untie-embeddings-and-output-weights
    --disable-bias-linear # as Llama
)

TRAINING_ARGS=(
    --micro-batch-size 1
    --global-batch-size $((WORLD_SIZE * 2))
    --lr 0.00015
    --bf16
    --grad-reduce-in-bf16
    --cross-entropy-loss-fusion
)

if [[ "$DTYPE" == "fp8" ]]; then
    TRAINING_ARGS+=("--fp8-format hybrid" "--fp8-recipe delayed")
else
    TRAINING_ARGS+=(--recompute-activations)
fi

PARALLEL_ARGS=(
    --tensor-model-parallel-size $TP_SIZE
    # --pipeline-model-parallel-size 4
    --sequence-parallel
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
)

DATA_ARGS="--mock-data --tokenizer-type NullTokenizer --vocab-size 128256 \
  --split '99,1,0'"

LOG_ARGS=(--log-interval 1 --save "$CHECKPOINT_PATH")
if [ -n "${WANDB_API_KEY}" ]; then
    LOG_ARGS+=(--wandb-project "$USER")
fi

torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${MODEL_ARGS[@]} \
    ${TRAINING_ARGS[@]} \
    ${PARALLEL_ARGS[@]} $DATA_ARGS \
    ${LOG_ARGS[@]}
