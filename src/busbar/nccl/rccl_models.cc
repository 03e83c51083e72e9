// RCCL's models of known machines, as data.
//
// Source: ROCm RCCL (develop, on NCCL 2.28.3, ROCm 7.11), src/graph/rome_models.cc.
#include "busbar/nccl/internal/rccl_models.h"

namespace busbar::nccl {
namespace {

// Widths of the xGMI between GPUs, one row per GPU. D: two hives of four GPUs; F, G: eight GPUs with three links each;
// I, K: eight GCDs of MI250X; H: sixteen; J: four hives of four; L: eight fully connected GPUs; M: four APUs.
constexpr std::string_view kA = "01000010 10100000 01000010 00000101 00000101 00011000 10100000 00011000";
constexpr std::string_view kB = "01010000 10100000 01010000 10100000 00000110 00001001 00001001 00000110";
constexpr std::string_view kC = "00010010 00001001 00010010 10100000 01000100 00001001 10100000 01000100";
constexpr std::string_view kD = "01110000 10110000 11010000 11100000 00000111 00001011 00001101 00001110";
constexpr std::string_view kE = "00110000 00001001 10000100 10000100 01000010 00110000 00001001 01000010";
constexpr std::string_view kF = "00110100 00001011 10010100 10100100 01000011 10110000 01001001 01001010";
constexpr std::string_view kG = "01100010 10010100 10011000 01100001 00100110 01001001 10001001 00010110";
constexpr std::string_view kH =
    "0410200000000000 4011010000000000 1104001000000000 0140000200000000 2000040000001000 "
    "0100400000000110 0010000400000110 0002004000000001 0000000004102000 0000000040110100 "
    "0000000011040010 0000000001400002 0000100020000400 0000011001004000 0000011000100004 "
    "0000000100020040";
constexpr std::string_view kI = "04002010 40010001 00041020 01400100 20100400 00014001 10200004 01000140";
constexpr std::string_view kJ =
    "0111000000000000 1011000000000000 1101000000000000 1110000000000000 0000011100000000 "
    "0000101100000000 0000110100000000 0000111000000000 0000000001110000 0000000010110000 "
    "0000000011010000 0000000011100000 0000000000000111 0000000000001011 0000000000001101 "
    "0000000000001110";
constexpr std::string_view kK = "04100020 40010100 10042000 01400001 00200410 01004001 20001004 00010140";
constexpr std::string_view kL = "01111111 10111111 11011111 11101111 11110111 11111011 11111101 11111110";
constexpr std::string_view kM = "0222 2022 2202 2220";

// Rings: entry NIC, order of the GPUs, exit NIC; hexadecimal.
constexpr std::string_view kRings22 = "74531062 47350126";
constexpr std::string_view kRings25 = "21036754 76451230";
constexpr std::string_view kRings27 = "06231754 71456032";
constexpr std::string_view kRings29 = "65740132 64752310";
constexpr std::string_view kRings31 = "12306457 46752103";
constexpr std::string_view kRings33 = "14570326 41756230";
constexpr std::string_view kRings30 = "30126754 21037645";
constexpr std::string_view kRings32 = "06234571 32601754";
constexpr std::string_view kRings24 = "01235764 10327546";
constexpr std::string_view kRings26 = "45710326 30621754";
constexpr std::string_view kRings23 = "17645203 25304671";
constexpr std::string_view kRings38 = "67143520 02534176";
constexpr std::string_view kRings28 = "03214567 76541230 02574631 13647520";
constexpr std::string_view kRings40 = "67140532 76410235";
constexpr std::string_view kRings42 = "74613025 64713250";
constexpr std::string_view kRings44 = "54762130 56741023";
constexpr std::string_view kRings45 = "01234567 02574613 03164752 07654321";
constexpr std::string_view kRings46 = "65741230 74651032";
constexpr std::string_view kRings48 = "01234567 76543210 01234567 76543210";
constexpr std::string_view kRings49 = "0:01234567:3 3:76543210:0 1:23016745:2 2:54761032:1";
constexpr std::string_view kRings52 = "01324576 67542310 01546732 23764510";
constexpr std::string_view kRings43 = "01234567 02574613 03164752 07654321";
constexpr std::string_view kRings55 = "01234567 76543210 23016745 54761032";
constexpr std::string_view kRings56 =
    "013267feab98cd54 012376dc89abfe54 02376efba89dc451 45dc89baef762310 45efba98cd673210 "
    "154cd98abfe67320";
constexpr std::string_view kRings59 =
    "4:98cd54013267feab:5 1:3267feab98cd5401:0 3:76231045dc89baef:7 7:feab98cd54013267:3 "
    "5:baef76231045dc89:4 0:1045dc89baef7623:1 3:67321045efba98cd:6 7:efba98cd67321045:2 "
    "2:54012376dc89abfe:7 6:dc89abfe54012376:3 4:89dc45102376efba:5 5:abfe67320154cd98:4 "
    "6:cd98abfe67320154:2 2:45102376efba89dc:6 1:2376efba89dc4510:0 0:0154cd98abfe6732:1 "
    "5:ab98cd54013267fe:7 3:67feab98cd540132:1 1:231045dc89baef76:3 7:ef76231045dc89ba:5 "
    "0:012376dc89abfe54:2 4:89abfe54012376dc:6 3:76dc89abfe540123:1 1:321045efba98cd67:3 "
    "6:cd67321045efba98:4 2:45efba98cd673210:0 0:102376efba89dc45:2 6:dc45102376efba89:4 "
    "5:ba89dc45102376ef:7 2:54cd98abfe673201:0 7:fe67320154cd98ab:5 4:98abfe67320154cd:6";
constexpr std::string_view kRings62 = "01324576 67542310 01546732 23764510";
constexpr std::string_view kRings63 = "0:01546732:1 1:23764510:0 3:76013245:2 2:54231067:3";
constexpr std::string_view kRings66 = "06754231 13245760 01762354 45326710";
constexpr std::string_view kRings67 =
    "3:76013245:2 2:54231067:3 1:23540176:3 2:45326710:0 1:32457601:0 0:10675423:1 0:01762354:2 "
    "3:67104532:1";
constexpr std::string_view kRings71 = "01324576 67542310 01542376 67324510";
constexpr std::string_view kRings72 =
    "0:01324576:3 1:23106754:2 3:76015423:1 0:10673245:2 2:45760132:1 3:67542310:0 2:54237601:0 "
    "1:32451067:3";
constexpr std::string_view kRings76 =
    "0:01324576:6 2:23106754:4 5:54237601:1 1:10673245:5 4:45760132:2 2:23106754:4 0:01542376:6 "
    "3:32451067:7 4:45760132:2 6:67542310:0 7:76015423:3 6:67324510:0 3:32015467:7 1:10237645:5 "
    "5:54673201:1 7:76451023:3";
constexpr std::string_view kRings79 =
    "01234567 01234576 02413657 02461735 03152746 03516274 04173625 76543210 67543210 75631420 53716420 "
    "64725130 47261530 52637140";
constexpr std::string_view kRings80 =
    "2:2301:1 0:0132:2 0:0213:3 3:3102:2 3:3120:0 1:1032:2 1:1230:0 2:2013:3 3:3021:1 2:2310:0 1:1203:3 "
    "0:0321:1";
constexpr std::string_view kRings81 =
    "0:01234567:7 1:10243576:6 2:25036174:4 3:37042165:5 4:46273051:1 5:54713260:0 6:63140752:2 "
    "7:72064153:3";
constexpr std::string_view kRings84 =
    "0:01234567:14 2:10243576:12 4:25037164:8 6:36152740:0 8:47065132:4 10:54630721:2 12:62041753:6 "
    "14:73142605:10 1:01234567:15 3:10243576:13 5:25037164:9 7:36152740:1 9:47065132:5 11:54630721:3 "
    "13:62041753:7 15:73142605:11";
constexpr std::string_view kRings87 =
    "3:01234567:1 3:10243576:1 0:25036174:2 0:37042165:2 2:46273051:3 2:54713260:3 1:63140752:0 "
    "1:72064153:0";
constexpr std::string_view kRings88 =
    "0:01234567:3 0:10243576:3 1:25036174:2 1:37042165:2 2:46273051:0 2:54713260:0 3:63140752:1 "
    "3:72064153:1";

// Rings of the last node and of the one before it if the number of nodes is odd, and trees that stay on a rail.
constexpr std::string_view kLast81 =
    "5:54271630:0 2:25037461:1 3:36405172:2 4:47065213:3 6:62075314:4 7:73260415:5 1:10243576:6 "
    "0:01234567:7";
constexpr std::string_view kBeforeLast81 =
    "7:74132065:5 6:63075142:2 4:46217053:3 5:52731604:4 1:10243576:6 0:01234567:7 2:25036471:1 "
    "3:37261540:0";
constexpr std::string_view kTrees81 =
    "0:01243657:1 1:10473526:0 2:23056174:3 3:32706415:2 4:45160372:5 5:54620713:4 6:67534021:7 "
    "7:76314250:6";
constexpr std::string_view kLast87 =
    "0:21345670:3 0:30246571:3 3:01475362:0 3:10527643:0 1:61235074:2 1:73260415:2 2:40372516:1 "
    "2:54206317:1";
constexpr std::string_view kBeforeLast87 =
    "1:63140752:0 1:72064153:0 2:46273051:3 2:54713260:3 3:01234567:1 3:10243576:1 0:25036174:2 "
    "0:37042165:2";
constexpr std::string_view kTrees87 =
    "3:01243657:1 3:10473526:1 0:23056174:2 0:32706415:2 2:45160372:3 2:54620713:3 1:67534021:0 "
    "1:76314250:0";
constexpr std::string_view kLast88 =
    "1:21345670:0 1:30246571:0 0:01475362:1 0:10527643:1 3:61235074:2 3:73260415:2 2:40372516:3 "
    "2:54206317:3";
constexpr std::string_view kBeforeLast88 =
    "3:63140752:1 3:72064153:1 2:46273051:0 2:54713260:0 0:01234567:3 0:10243576:3 1:25036174:2 "
    "1:37042165:2";

constexpr RcclModel::Rails kRails81{kTrees81, kLast81, kBeforeLast81}, kRails87{kTrees87, kLast87, kBeforeLast87},
    kRails88{"", kLast88, kBeforeLast88};

// In RCCL's order: the first model that matches is taken.
// clang-format off: one row of the table per entry
constexpr RcclModel kModels[] = {
    // number, GPUs, NUMA nodes, NICs, links per GPU, pattern, widths, rings
    {22, 8, 4, 1, 2, "10302120", kA, kRings22},
    {25, 8, 4, 2, 2, "11303011", kB, kRings25},
    {27, 8, 4, 2, 2, "11303011", kC, kRings27},
    {29, 8, 4, 1, 3, "10302120", kD, kRings29},
    {31, 8, 8, 2, 2, "0110201010200110", kB, kRings31},
    {33, 8, 8, 2, 2, "0110201010200110", kC, kRings33},
    {30, 8, 8, 0, 2, "0010201010200010", kB, kRings30},
    {32, 8, 8, 0, 2, "0010201010200010", kC, kRings32},
    {24, 8, 4, 0, 2, "10303010", kB, kRings24},
    {26, 8, 4, 0, 2, "10303010", kC, kRings26},
    {23, 8, 4, 0, 2, "10302020", kE, kRings23},
    {38, 8, 7, 0, 2, "10201000201010", kE, kRings38},
    {28, 8, 4, 0, 3, "10302020", kD, kRings28},
    {40, 8, 4, 1, 3, "10302120", kF, kRings40},
    {42, 8, 7, 1, 3, "10201001201010", kF, kRings42},
    {44, 8, 4, 1, 3, "20202120", kD, kRings44},
    {45, 8, 7, 0, 3, "10201000201010", kD, kRings45},
    {46, 8, 7, 1, 3, "10201001201010", kD, kRings46},
    {48, 8, 4, 0, 3, "20202020", kD, kRings48},
    {49, 8, 4, 4, 3, "21212121", kD, kRings49},
    {52, 8, 1, 0, 3, "80", kG, kRings52},
    {53, 8, 4, 4, 3, "21212121", kD, kRings49},
    // RCCL lists its trees one by one. Here they are its rings without the last hops, as are those of model 56.
    {43, 8, 4, 0, 3, "20202020", kD, kRings43, {.times = 3}},
    {55, 8, 4, 0, 3, "20202020", kD, kRings55},
    {56, 16, 4, 0, 4, "40404040", kH, kRings56, {.tuning = 1}},
    {58, 8, 3, 0, 3, "402020", kG, kRings52},
    {59, 16, 4, 8, 4, "42424242", kH, kRings59, {.tuning = 4, .ll128 = true}},
    {62, 8, 4, 0, 3, "20202020", kG, kRings62},
    {63, 8, 4, 4, 3, "21212121", kG, kRings63, {.times = 2, .tuning = 3}},
    {65, 16, 4, 8, 4, "42424242", kH, kRings59, {.tuning = 4, .ll128 = true}},
    {66, 8, 2, 0, 3, "4040", kI, kRings66, {.tuning = 2, .any_numa = true}},
    {67, 8, 2, 4, 3, "4242", kI, kRings67, {.tuning = 2, .any_numa = true}},
    // Its rings pass through NICs inside the node, which the model does not cover.
    {68, 16, 1, 16, 3, "@@", kJ, ""},
    {71, 8, 2, 0, 3, "4040", kK, kRings71, {.tuning = 2, .any_numa = true}},
    {72, 8, 2, 4, 3, "4242", kK, kRings72, {.tuning = 2, .any_numa = true}},
    {73, 8, 4, 0, 3, "20202020", kK, kRings62},
    {74, 8, 4, 4, 3, "21212121", kK, kRings63, {.times = 2, .tuning = 3}},
    {76, 8, 2, 8, 3, "4444", kK, kRings76, {.tuning = 3, .any_numa = true}},
    {79, 8, 2, 0, 7, "4040", kL, kRings79, {.times = 2, .tuning = 5, .any_numa = true, .any_cpu = true}},
    {80, 4, 4, 4, 3, "11111111", kM, kRings80},
    {81,
     8,
     2,
     8,
     7,
     "4444",
     kL,
     kRings81,
     {.times = 8,
      .near = "0 1 2 3 4 5 6 7",
      .rails = &kRails81,
      .tuning = 5,
      .ll128 = true,
      .any_numa = true,
      .any_cpu = true}},
    {84, 8, 2, 16, 7, "4848", kL, kRings84, {.near = "0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7", .tuning = 5, .any_cpu = true}},
    {85, 8, 2, 4, 3, "4242", kK, kRings72, {.tuning = 2}},
    {87,
     8,
     2,
     4,
     7,
     "4242",
     kL,
     kRings87,
     {.times = 8, .near = "3 6 4 1", .rails = &kRails87, .tuning = 5, .ll128 = true, .any_cpu = true}},
    {88, 8, 2, 4, 7, "4242", kL, kRings88, {.times = 8, .near = "01 23 45 67", .rails = &kRails88, .any_cpu = true}},
    {89,
     8,
     2,
     8,
     7,
     "4444",
     kL,
     kRings81,
     {.times = 8,
      .near = "01 01 23 23 45 45 67 67",
      .rails = &kRails81,
      .tuning = 5,
      .ll128 = true,
      .any_numa = true,
      .any_cpu = true}},
};
// clang-format on

}  // namespace

std::span<const RcclModel> rccl_models() { return kModels; }

}  // namespace busbar::nccl
