// Simulates the RTL of this project on vectors, without Python: `make sim`.
//
//   simulate VECTORS FOLDER    VECTORS: regions, sizes and logits; FOLDER: for the files of the bench
//
// It places the regions in the bench's memory, writes the registers, waits for the interrupt, and compares every word
// of the logits, and the cycles with the predicted ones. Exit code 0: all are equal; 1: some differ; 2: it cannot run.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "Vbench.h"
#include "kernel.h"
#include "verilated.h"

namespace {

using Bytes = std::vector<unsigned char>;
constexpr uint64_t PAGE_BYTES = 4096;
constexpr unsigned char UNWRITTEN = 0x5A;  // a byte of the result before the run

Bytes read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(path + " is missing: write the project again");
    return Bytes(std::istreambuf_iterator<char>(file), {});
}

// A number of one of the project's JSON files; `otherwise` where it has none of that name.
double number(const std::string& text, const std::string& name, double otherwise = -1) {
    std::smatch found;
    if (std::regex_search(text, found, std::regex("\"" + name + "\": ([0-9.eE+-]+)"))) return std::stod(found[1]);
    if (otherwise < 0) throw std::runtime_error("no " + name + " in the files of these vectors");
    return otherwise;
}

std::string text_of(const std::string& path) {
    const Bytes bytes = read_file(path);
    return std::string(bytes.begin(), bytes.end());
}

struct Region {
    std::string name;
    uint64_t first;  // in beats
    Bytes bytes;
};

// Clock, reset and the control port of the bench.
class Bench {
public:
    explicit Bench(VerilatedContext& context) : context_(context), dut(new Vbench(&context)) {}
    ~Bench() { dut->final(); }

    void tick() {
        dut->eval();
        for (int level : {1, 0}) {
            context_.timeInc(5);
            dut->ap_clk = level;
            dut->eval();
        }
        ++ticks;
    }

    void pulse(CData& signal) {
        signal = 1;
        tick();
        tick();
        signal = 0;
        tick();
    }

    void write(uint32_t address, uint32_t value) {
        dut->s_axi_control_AWADDR = address;
        dut->s_axi_control_WDATA = value;
        dut->s_axi_control_WSTRB = 15;
        dut->s_axi_control_AWVALID = dut->s_axi_control_WVALID = dut->s_axi_control_BREADY = 1;
        bool answered = false;
        for (int wait = 0; !answered; ++wait) {
            patience(wait);
            dut->eval();
            const bool address_taken = dut->s_axi_control_AWREADY, data_taken = dut->s_axi_control_WREADY;
            answered = dut->s_axi_control_BVALID;
            tick();
            if (address_taken) dut->s_axi_control_AWVALID = 0;
            if (data_taken) dut->s_axi_control_WVALID = 0;
        }
        dut->s_axi_control_BREADY = 0;
    }

    uint32_t read(uint32_t address) {
        dut->s_axi_control_ARADDR = address;
        dut->s_axi_control_ARVALID = dut->s_axi_control_RREADY = 1;
        uint32_t value = 0;
        bool answered = false;
        for (int wait = 0; !answered; ++wait) {
            patience(wait);
            dut->eval();
            const bool taken = dut->s_axi_control_ARREADY;
            answered = dut->s_axi_control_RVALID;
            value = dut->s_axi_control_RDATA;
            tick();
            if (taken) dut->s_axi_control_ARVALID = 0;
        }
        dut->s_axi_control_RREADY = 0;
        return value;
    }

    uint64_t ticks = 0;

private:
    VerilatedContext& context_;

    static void patience(int wait) {
        if (wait > 1000) throw std::runtime_error("the control port does not answer");
    }

public:
    const std::unique_ptr<Vbench> dut;
};

// The regions on pages of their own, in the order of the address registers.
std::vector<Region> placed(const std::string& vectors) {
    std::vector<Region> regions;
    const uint64_t page = PAGE_BYTES / BEAT_BYTES;
    uint64_t end = page;
    for (const Register& one : ARGUMENTS) {
        if (one.bits != 64) continue;
        regions.push_back({one.name, end, read_file(vectors + "/" + one.name + ".bin")});
        end = (end + regions.back().bytes.size() / BEAT_BYTES + page - 1) / page * page;
    }
    if (end > MEMORY_BEATS) throw std::runtime_error("these vectors do not fit the memory that was built: make clean");
    return regions;
}

void write_beats(std::ostream& out, const Region& region, bool blank) {
    out << "@" << std::hex << region.first << "\n";
    const uint64_t beats = region.bytes.size() / BEAT_BYTES;
    for (uint64_t beat = 0; beat < (blank && !beats ? 1 : beats); ++beat) {
        char digits[3];
        for (int byte = BEAT_BYTES - 1; byte >= 0; --byte) {
            std::snprintf(digits, sizeof digits, "%02x", blank ? UNWRITTEN : region.bytes[beat * BEAT_BYTES + byte]);
            out << digits;
        }
        out << "\n";
    }
}

// A region that the bench wrote to a file.
Bytes dumped(const std::string& path) {
    std::ifstream file(path);
    Bytes bytes;
    for (std::string word; file >> word;) {
        if (word[0] == '@' || word.compare(0, 2, "//") == 0) {
            file.ignore(1 << 20, '\n');
            continue;
        }
        for (std::size_t at = word.size(); at >= 2; at -= 2) {
            bytes.push_back(static_cast<unsigned char>(std::stoul(word.substr(at - 2, 2), nullptr, 16)));
        }
    }
    return bytes;
}

unsigned long mismatches(const Bytes& wanted, const Bytes& found) {
    unsigned long wrong = 0;
    for (std::size_t at = 0; at + 1 < wanted.size(); at += 2) {
        const bool same = at + 1 < found.size() && found[at] == wanted[at] && found[at + 1] == wanted[at + 1];
        if (!same && !wrong++) std::printf("first mismatch: word %zu of the logits\n", at / 2);
    }
    return wrong;
}

int run(VerilatedContext& context, const std::string& vectors, const std::string& folder) {
    const std::string sizes = text_of(vectors + "/vectors.json"), price = text_of(vectors + "/../report/price.json");
    const auto predicted = static_cast<uint64_t>(number(price, "latency_cycles"));
    const std::vector<Region> regions = placed(vectors);
    const Region* output = nullptr;
    std::ofstream memory(folder + "/memory.hex"), blank(folder + "/blank.hex");
    Bench bench(context);
    for (int place = 0; place < 8; ++place) bench.dut->regions_i[place] = ~0u;
    int place = 0;
    for (const Region& region : regions) {
        if (region.name == OUTPUT) {
            output = &region;
            write_beats(blank, region, true);
        } else {
            write_beats(memory, region, false);
            bench.dut->regions_i[place++] = static_cast<uint32_t>(region.first);
        }
    }
    if (!output) throw std::runtime_error("the kernel has no address of its result");
    memory.close();
    blank.close();

    Vbench& dut = *bench.dut;
    dut.read_latency_i = READ_LATENCY;
    dut.write_latency_i = WRITE_LATENCY;
    dut.beat_pace_i = static_cast<uint32_t>(PACE_STEPS * number(price, "beat_cycles", 1) + 0.5);
    dut.ap_rst_n = 0;
    for (int cycle = 0; cycle < 8; ++cycle) bench.tick();
    dut.ap_rst_n = 1;
    bench.tick();
    bench.pulse(dut.blank_i);

    std::size_t address = 0;
    for (const Register& one : ARGUMENTS) {
        const uint64_t value = one.bits == 64 ? regions[address++].first * BEAT_BYTES
                                              : static_cast<uint64_t>(number(sizes, one.name));
        for (int word = 0; word < one.bits / 32; ++word) {
            bench.write(one.offset + 4 * word, static_cast<uint32_t>(value >> (32 * word)));
        }
    }
    bench.write(GLOBAL_INTERRUPT_ENABLE, 1);
    bench.write(INTERRUPT_ENABLE, 1);
    const uint64_t limit = bench.ticks + 4 * std::max<uint64_t>(predicted, 1000000) + 100000;
    bench.write(CONTROL, START);
    while (!dut.interrupt_o && bench.ticks < limit) bench.tick();
    if (!dut.interrupt_o) throw std::runtime_error("the kernel sent no interrupt");
    for (int cycle = 0; cycle < 4; ++cycle) bench.tick();
    const uint32_t status = bench.read(STATUS);
    const uint64_t cycles = dut.cycles_o;

    dut.dump_first_i = static_cast<uint32_t>(output->first);
    const uint64_t beats = output->bytes.size() / BEAT_BYTES;
    dut.dump_last_i = static_cast<uint32_t>(output->first + (beats ? beats : 1) - 1);
    bench.pulse(dut.dump_i);
    const unsigned long wrong = mismatches(output->bytes, dumped(folder + "/logits.hex"));
    std::printf("words %zu mismatches %lu status 0x%x protocol_errors %u\n", output->bytes.size() / 2, wrong, status,
                dut.protocol_errors_o);
    std::printf("cycles %llu predicted %llu\n", static_cast<unsigned long long>(cycles),
                static_cast<unsigned long long>(predicted));
    return wrong == 0 && status == 0 && dut.protocol_errors_o == 0 && cycles == predicted ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        std::fprintf(stderr, "usage: %s VECTORS FOLDER\n", arguments[0]);
        return 2;
    }
    const std::string folder = arguments[2];
    const std::vector<std::string> given = {
        arguments[0], "+memory=" + folder + "/memory.hex", "+blank=" + folder + "/blank.hex",
        "+dump=" + folder + "/logits.hex",
    };
    std::vector<const char*> plain;
    for (const std::string& one : given) plain.push_back(one.c_str());
    VerilatedContext context;
    context.commandArgs(static_cast<int>(plain.size()), plain.data());
    try {
        return run(context, arguments[1], folder);
    } catch (const std::exception& error) {
        std::printf("error: %s\n", error.what());
        return 2;
    }
}
