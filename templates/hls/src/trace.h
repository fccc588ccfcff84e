// For naming the first place where two levels part: with FGNAS_TRACE defined, which synthesis never does, the stages
// append what they produce to files in the folder that the environment variable FGNAS_TRACE_FOLDER names.
#pragma once

#ifdef FGNAS_TRACE
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

/// One tile, a line of numbers, to the file LAYER.STAGE.
template <class T, int N>
void trace_lanes(int layer, const char* stage, const T (&lanes)[N]) {
    static std::map<std::string, std::ofstream> files;
    const char* folder = std::getenv("FGNAS_TRACE_FOLDER");
    const std::string name = std::string(folder ? folder : ".") + "/" + std::to_string(layer) + "." + stage;
    std::ofstream& file = files[name];
    if (!file.is_open()) file.open(name.c_str());
    for (int lane = 0; lane < N; ++lane) file << lanes[lane].to_int() << (lane == N - 1 ? '\n' : ' ');
}

#define TRACE(L, STAGE, LANES) trace_lanes(L::INDEX, STAGE, LANES)
#else
#define TRACE(L, STAGE, LANES)
#endif
