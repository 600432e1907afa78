// SPDX-License-Identifier: Apache-2.0
#include "sampler_process.h"

int main(int argc, char** argv) { return warpmeter::sampler::samplerMain(argc, argv); }
