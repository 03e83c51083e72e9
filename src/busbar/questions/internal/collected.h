// Made by the build: the functions of all files *_question.cc of this folder, see CMakeLists.txt.
#pragma once

#include <vector>

#include "busbar/questions/question.h"

namespace busbar::questions {

std::vector<Question> collected_questions();

}  // namespace busbar::questions
