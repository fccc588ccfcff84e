// Locates the first mismatch between two levels. With FGNAS_TRACE defined, never in synthesis, the stages write their
// results to files LAYER.STAGE in the folder that the environment variable FGNAS_TRACE_FOLDER names. A line is a node's
// row without its padding lanes; the runs follow each other.
#pragma once

#ifdef FGNAS_TRACE
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

/// Writes one tile of a row of WIDTH numbers.
template <int WIDTH, class T, int N>
void trace_lanes(int layer, const char* stage, const T (&lanes)[N]) {
    struct File {
        std::ofstream stream;
        int written = 0;  // numbers of the row written so far
    };
    static std::map<std::string, File> files;
    const char* folder = std::getenv("FGNAS_TRACE_FOLDER");
    const std::string name = std::string(folder ? folder : ".") + "/" + std::to_string(layer) + "." + stage;
    File& file = files[name];
    if (!file.stream.is_open()) file.stream.open(name.c_str());
    for (int lane = 0; lane < N && file.written < WIDTH; ++lane, ++file.written) {
        file.stream << lanes[lane].to_int64() << (file.written == WIDTH - 1 ? '\n' : ' ');
    }
    if (file.written == WIDTH) file.written = 0;  // a row begins with a new tile
}

#define TRACE_ROW(L, STAGE, LANES, WIDTH) trace_lanes<WIDTH>(L::INDEX, STAGE, LANES)
#else
#define TRACE_ROW(L, STAGE, LANES, WIDTH)
#endif
#define TRACE(L, STAGE, LANES) TRACE_ROW(L, STAGE, LANES, L::FEATURES)
