#include "busbar/report/text_shape.h"

#include <utility>

namespace busbar::report {

Shape text_shape(double x, double y, std::string words, int tone, Anchor anchor, double size) {
  return {Shape::Kind::kText, x, y, 0, 0, tone, -1, 1, std::move(words), anchor, size};
}

}  // namespace busbar::report
