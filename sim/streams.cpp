// Drives a kernel whose ports are FIFOs, as bambu makes it from the C++, on the vectors of a project.
//
//   streams VECTORS LOGITS NODES FEATURE_BEATS EDGE_BEATS LOGIT_BEATS QUIET_CYCLES
//
// Each region is offered beat by beat, and again from its first beat when it ends: the kernel reads the edges once a
// pass. The run ends with the status word. Prints "status S cycles C beats B"; LOGITS gets the beats of logits.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "Vfgnas_top.h"
#include "verilated.h"

static const std::size_t BEAT_BYTES = 16;

/// A region of main memory, offered in order and without end.
class Region {
public:
    explicit Region(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        if (!file) throw std::runtime_error("cannot open " + path);
        bytes_.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    bool empty() const { return bytes_.size() < BEAT_BYTES; }
    /// Puts the current beat on a port.
    template <class Words>
    void offer(Words& words) const {
        if (!empty()) std::memcpy(&words[0], bytes_.data() + at_, BEAT_BYTES);
    }
    void next() {
        at_ += BEAT_BYTES;
        if (at_ + BEAT_BYTES > bytes_.size()) at_ = 0;
    }

private:
    std::vector<char> bytes_;
    std::size_t at_ = 0;
};

static int run(char** arguments) {
    const std::string folder = arguments[1];
    Region parameters(folder + "/parameters.bin"), features(folder + "/features.bin"), edges(folder + "/edges.bin");
    std::ofstream logits(arguments[2], std::ios::binary);
    const unsigned long most_beats = std::strtoul(arguments[6], nullptr, 10);
    const std::uint64_t quiet_cycles = std::strtoull(arguments[7], nullptr, 10);

    VerilatedContext context;
    Vfgnas_top kernel(&context);
    kernel.nodes = std::strtoul(arguments[3], nullptr, 10);
    kernel.feature_beats = std::strtoul(arguments[4], nullptr, 10);
    kernel.edge_beats = std::strtoul(arguments[5], nullptr, 10);
    kernel.logits_full_n = kernel.status_full_n = 1;
    kernel.parameters_empty_n = !parameters.empty();
    kernel.features_empty_n = !features.empty();
    kernel.edges_empty_n = !edges.empty();
    kernel.start_port = 0;
    kernel.reset = 0;  // active low
    for (int cycle = 0; cycle < 4; ++cycle) {
        kernel.clock = 0;
        kernel.eval();
        kernel.clock = 1;
        kernel.eval();
    }
    kernel.reset = 1;

    unsigned long beats = 0;
    std::uint64_t last_transfer = 0;
    for (std::uint64_t cycle = 0; cycle - last_transfer < quiet_cycles; ++cycle) {
        kernel.clock = 0;
        kernel.start_port = cycle == 0;
        parameters.offer(kernel.parameters_dout);
        features.offer(kernel.features_dout);
        edges.offer(kernel.edges_dout);
        kernel.eval();
        // Transfers of this cycle, before the edge.
        const bool read_parameters = kernel.parameters_read, read_features = kernel.features_read;
        const bool read_edges = kernel.edges_read, wrote = kernel.logits_write, ended = kernel.status_write;
        const std::uint32_t status = kernel.status_din;
        if (wrote && beats++ < most_beats) {
            logits.write(reinterpret_cast<const char*>(&kernel.logits_din[0]), std::streamsize(BEAT_BYTES));
        }
        if (ended) {
            std::printf("status %u cycles %llu beats %lu\n", status, static_cast<unsigned long long>(cycle), beats);
            return 0;
        }
        kernel.clock = 1;
        kernel.eval();
        if (read_parameters) parameters.next();
        if (read_features) features.next();
        if (read_edges) edges.next();
        if (read_parameters || read_features || read_edges || wrote) last_transfer = cycle;
    }
    std::printf("quiet after cycle %llu beats %lu\n", static_cast<unsigned long long>(last_transfer), beats);
    return 2;
}

int main(int count, char** arguments) {
    if (count != 8) {
        std::printf("error: seven arguments wanted\n");
        return 3;
    }
    try {
        return run(arguments);
    } catch (const std::exception& error) {
        std::printf("error: %s\n", error.what());
        return 3;
    }
}
