// Runs the kernel on the golden vectors and compares every logit with the integer reference.
//
//   testbench [folder of the vectors]     exits with 0 only if everything is equal
//
// It also runs the whole graph a second time in the same process (the first run must leave nothing behind), a graph of
// no nodes, and small graphs that the kernel must refuse.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "../src/fgnas_top.h"
#include "../src/parameters.h"

typedef std::vector<Beat> Region;

static const int UNTOUCHED = 0x5A5A;  // content of the logit region before a run

struct Vectors {
    unsigned nodes, classes, logit_beats;
    Region parameters, features, edges, logits;
};

static std::string read_file(const std::string& path) {
    std::ifstream file(path.c_str(), std::ios::binary);
    if (!file) throw std::runtime_error("cannot open " + path);
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

/// The number that follows a key of a flat JSON object.
static unsigned number_of(const std::string& json, const std::string& key) {
    const std::string quoted = "\"" + key + "\":";
    const std::size_t place = json.find(quoted);
    if (place == std::string::npos) throw std::runtime_error("vectors.json lacks " + key);
    return static_cast<unsigned>(std::strtoul(json.c_str() + place + quoted.size(), nullptr, 10));
}

/// A region of exactly `beats` beats.
static Region read_region(const std::string& path, unsigned beats) {
    const std::string bytes = read_file(path);
    if (bytes.size() != std::size_t(beats) * BEAT_BYTES) {
        throw std::runtime_error(path + " holds " + std::to_string(bytes.size()) + " bytes, not " +
                                 std::to_string(std::size_t(beats) * BEAT_BYTES));
    }
    Region region(beats);
    for (std::size_t beat = 0; beat < region.size(); ++beat) {
        Beat value = 0;
        for (int byte = BEAT_BYTES - 1; byte >= 0; --byte) {
            value = (value << 8) | static_cast<unsigned char>(bytes[beat * BEAT_BYTES + byte]);
        }
        region[beat] = value;
    }
    return region;
}

static Vectors read_vectors(const std::string& folder) {
    const std::string sizes = read_file(folder + "/vectors.json");
    Vectors v;
    v.nodes = number_of(sizes, "nodes");
    v.classes = number_of(sizes, "classes");
    v.logit_beats = number_of(sizes, "logit_beats");
    v.parameters = read_region(folder + "/parameters.bin", number_of(sizes, "parameter_beats"));
    v.features = read_region(folder + "/features.bin", number_of(sizes, "feature_beats"));
    v.edges = read_region(folder + "/edges.bin", number_of(sizes, "edge_beats"));
    v.logits = read_region(folder + "/logits.bin", v.nodes * v.logit_beats);
    if (v.parameters.size() != PARAMETER_BEATS) throw std::runtime_error("the vectors belong to another design");
    return v;
}

/// Word `word` of a region of logits.
static int word_of(const Region& region, std::size_t word) {
    const int low = int(word % BEAT_WORDS) * WORD_BITS;
    return ap_int<WORD_BITS>(region[word / BEAT_WORDS].range(low + WORD_BITS - 1, low)).to_int();
}

static Region untouched(unsigned beats) {
    Beat value = 0;
    for (int word = 0; word < BEAT_WORDS; ++word) value = (value << WORD_BITS) | UNTOUCHED;
    return Region(beats, value);
}

/// A region as large as the interface's depth, because a co-simulation copies that much whatever the run needs.
static Region at_least(std::size_t depth, Region region) {
    if (region.size() < depth) region.resize(depth);
    return region;
}

/// Runs the kernel and returns its status.
static unsigned run(unsigned nodes, const Vectors& v, Region& logits) {
    const Region features = at_least(FEATURE_DEPTH, v.features), edges = at_least(EDGE_DEPTH, v.edges);
    Region written = at_least(LOGIT_DEPTH, logits);
    ap_uint<32> status = 0xFFFFFFFFu;
    fgnas_top(nodes, unsigned(v.features.size()), unsigned(v.edges.size()), v.parameters.data(), features.data(),
              edges.data(), written.data(), &status);
    logits.assign(written.begin(), written.begin() + std::ptrdiff_t(logits.size()));
    return status.to_uint();
}

/// Mismatches in one run on the whole graph, over every logit and padding word; all of them if the run was refused.
static unsigned long compare(const Vectors& v, const char* which) {
    const std::size_t row_words = std::size_t(v.logit_beats) * BEAT_WORDS;
    Region found = untouched(v.nodes * v.logit_beats);
    const unsigned status = run(v.nodes, v, found);
    if (status != 0) {
        std::printf("%s run: refused with status 0x%x\n", which, status);
        return static_cast<unsigned long>(v.nodes) * v.classes;
    }
    unsigned long mismatches = 0;
    for (std::size_t word = 0; word < row_words * v.nodes; ++word) {
        const int expected = word_of(v.logits, word), got = word_of(found, word);
        if (expected == got) continue;
        if (mismatches++ == 0) {
            std::printf("%s run: first mismatch at node %zu class %zu: expected %d, got %d\n", which,
                        word / row_words, word % row_words, expected, got);
        }
    }
    std::printf("%s run: %lu mismatches\n", which, mismatches);
    return mismatches;
}

/// Checks one run that must write nothing: 0 if its status is as expected and the logits are untouched.
static int check(const char* what, unsigned nodes, const Vectors& v, unsigned expected) {
    const Region before = untouched(4 * v.logit_beats);
    Region logits = before;
    const unsigned status = run(nodes, v, logits);
    const bool right = status == expected && logits == before;
    std::printf("%s: status 0x%x, logits %s%s\n", what, status, logits == before ? "untouched" : "written",
                right ? "" : "  <- wrong");
    return right ? 0 : 1;
}

static Beat feature_beat(unsigned column, unsigned count, unsigned last) {
    return (Beat(last) << FEATURE_TAIL_LAST_AT) | (Beat(count) << FEATURE_TAIL_COUNT_AT) |
           (Beat(column) << FEATURE_COLUMN_AT);
}

/// One edge in slot 0, repeated in the other slots, which a kernel ignores after its last row.
static Beat edge_beat(unsigned source, unsigned last) {
    const Beat field = (Beat(last) << EDGE_LAST_AT) | (Beat(256) << EDGE_COEFFICIENT_AT) | (Beat(source) << EDGE_SOURCE_AT);
    Beat beat = 0;
    for (int slot = 0; slot < EDGES_PER_BEAT; ++slot) beat |= field << (EDGE_BITS * slot);
    return beat;
}

/// Empty graphs and graphs of one node, each wrong in one way. Returns how many checks failed.
static int check_refusals(const Vectors& golden) {
    Vectors one = golden;  // a node without features whose only neighbour is itself
    one.features = Region(1, feature_beat(0, 0, 1));
    one.edges = Region(1, edge_beat(0, 1));

    int failed = check("no nodes", 0, one, 0);
    failed += check("too many nodes", NODE_CAPACITY + 1, one, 1u << NODES_OVER_CAPACITY);
    Vectors bad = one;
    bad.features = Region(1, feature_beat(Layer0::INPUT_WIDTH, 1, 1));
    failed += check("a column beyond the input", 1, bad, 1u << COLUMN_OUT_OF_RANGE);
    bad = one;
    bad.edges = Region(1, edge_beat(1, 1));
    failed += check("a source beyond the graph", 1, bad, 1u << SOURCE_OUT_OF_RANGE);
    bad = one;
    bad.edges = Region(DEGREE_CAPACITY / EDGES_PER_BEAT + 1, edge_beat(0, 0));  // more than DEGREE_CAPACITY edges
    bad.edges.push_back(edge_beat(0, 1));
    failed += check("a row that is too long", 1, bad, 1u << DEGREE_OVER_CAPACITY);
    bad = one;
    bad.features = Region(1, feature_beat(0, 0, 0));
    failed += check("features that end early", 1, bad, 1u << STREAM_TOO_SHORT);
    bad = one;
    bad.edges.clear();
    failed += check("edges that end early", 1, bad, 1u << STREAM_TOO_SHORT);
    return failed;
}

int main(int count, char** arguments) {
    try {
        const Vectors v = read_vectors(count > 1 ? arguments[1] : "vectors");
        const unsigned long first = compare(v, "first");
        const int failed = check_refusals(v);
        const unsigned long second = compare(v, "second");
        const unsigned long mismatches = first > second ? first : second;
        std::printf("nodes %u logits %lu mismatches %lu failed_checks %d\n", v.nodes,
                    static_cast<unsigned long>(v.nodes) * v.classes, mismatches, failed);
        return mismatches == 0 && failed == 0 ? 0 : 1;
    } catch (const std::exception& error) {
        std::printf("error: %s\n", error.what());
        return 2;
    }
}
