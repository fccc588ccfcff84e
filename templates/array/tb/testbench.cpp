// Runs the kernel on the golden vectors and compares every logit with the integer reference.
//
//   testbench [folder of the vectors]     exits with 0 only if everything is equal
//
// It also runs the whole programme a second time in the same process (the first run must leave nothing behind), a
// programme of no descriptors, and programmes and streams that the kernel must refuse. The vectors may be those of any
// network that was lowered for the same engine.
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

typedef std::vector<Beat> Region;

static const int UNTOUCHED = 0x5A5A;  // content of the logit region before a run

struct Vectors {
    unsigned nodes, classes, descriptors;
    Region programme, parameters, features, edges, logits;
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
static Region read_region(const std::string& folder, const std::string& name, const std::string& sizes) {
    const std::string path = folder + "/" + name + ".bin", bytes = read_file(path);
    const unsigned beats = number_of(sizes, name + "_beats");
    if (bytes.size() != std::size_t(beats) * BEAT_BYTES) {
        throw std::runtime_error(path + " holds " + std::to_string(bytes.size()) + " bytes, not " +
                                 std::to_string(std::size_t(beats) * BEAT_BYTES));
    }
    Region region(beats);
    for (std::size_t beat = 0; beat < region.size(); ++beat) {
        for (int byte = 0; byte < BEAT_BYTES; ++byte) {
            region[beat].range(8 * byte + 7, 8 * byte) = static_cast<unsigned char>(bytes[beat * BEAT_BYTES + byte]);
        }
    }
    return region;
}

static Vectors read_vectors(const std::string& folder) {
    const std::string sizes = read_file(folder + "/vectors.json");
    if (number_of(sizes, "beat_bytes") != BEAT_BYTES) throw std::runtime_error("the vectors belong to another engine");
    Vectors v;
    v.nodes = number_of(sizes, "nodes");
    v.classes = number_of(sizes, "classes");
    v.descriptors = number_of(sizes, "descriptors");
    v.programme = read_region(folder, "programme", sizes);
    v.parameters = read_region(folder, "parameters", sizes);
    v.features = read_region(folder, "features", sizes);
    v.edges = read_region(folder, "edges", sizes);
    v.logits = read_region(folder, "logits", sizes);
    return v;
}

/// Word `word` of a beat of logits.
static int word_of(const Beat& beat, int word) {
    return ap_int<WORD_BITS>(beat.range(WORD_BITS * word + WORD_BITS - 1, WORD_BITS * word)).to_int();
}

static Region untouched(std::size_t beats) {
    Beat value = 0;
    for (int word = 0; word < BEAT_BITS / WORD_BITS; ++word) value = (value << WORD_BITS) | UNTOUCHED;
    return Region(beats, value);
}

/// A region as large as the interface's depth, because a co-simulation copies that much whatever the run needs.
static Region at_least(std::size_t depth, Region region) {
    if (region.size() < depth) region.resize(depth);
    return region;
}

/// Runs the kernel and returns its status. A run that fails may write one beat beyond the logits that it was given.
static unsigned run(const Vectors& v, Region& logits) {
    const Region programme = at_least(PROGRAMME_DEPTH, v.programme), parameters = at_least(PARAMETERS_DEPTH, v.parameters);
    const Region features = at_least(FEATURES_DEPTH, v.features), edges = at_least(EDGES_DEPTH, v.edges);
    Region written = at_least(LOGITS_DEPTH, logits);
    ap_uint<32> status = 0xFFFFFFFFu;
    fgnas_top(v.descriptors, programme.data(), parameters.data(), features.data(), edges.data(), written.data(), &status);
    logits.assign(written.begin(), written.begin() + std::ptrdiff_t(logits.size()));
    return status.to_uint();
}

/// Mismatches in one run, over every word of the logit region, padding and absent rows included; all logits if the run was
/// refused.
static unsigned long compare(const Vectors& v, const char* which) {
    Region found = untouched(v.logits.size());
    const unsigned status = run(v, found);
    if (status != 0) {
        std::printf("%s run: refused with status 0x%x\n", which, status);
        return static_cast<unsigned long>(v.nodes) * v.classes;
    }
    unsigned long mismatches = 0;
    for (std::size_t beat = 0; beat < found.size(); ++beat) {
        for (int word = 0; word < BEAT_BITS / WORD_BITS; ++word) {
            const int expected = word_of(v.logits[beat], word), got = word_of(found[beat], word);
            if (expected == got) continue;
            if (mismatches++ == 0) {
                std::printf("%s run: first mismatch at beat %zu word %d: expected %d, got %d\n", which, beat, word,
                            expected, got);
            }
        }
    }
    std::printf("%s run: %lu mismatches\n", which, mismatches);
    return mismatches;
}

/// Sets a field of descriptor `place`; returns its value before.
static unsigned change(Region& programme, unsigned place, int at, int bits, unsigned value) {
    unsigned before = 0;
    for (int bit = 0; bit < bits; ++bit) {
        const int whole = at + bit;
        Beat& beat = programme[place * DESCRIPTOR_BEATS + whole / BEAT_BITS];
        before |= unsigned(bool(beat[whole % BEAT_BITS])) << bit;
        beat[whole % BEAT_BITS] = value >> bit & 1;
    }
    return before;
}

static unsigned field(Region programme, unsigned place, int at, int bits) { return change(programme, place, at, bits, 0); }

/// Checks one run: 0 if its status is as expected and, unless it may write, the logits are untouched.
static int check(const char* what, const Vectors& v, unsigned expected, bool writes = false) {
    const Region before = untouched(v.logits.size() + 1);
    Region logits = before;
    const unsigned status = run(v, logits);
    const bool right = status == expected && (writes || logits == before);
    std::printf("%s: status 0x%x, logits %s%s\n", what, status, logits == before ? "untouched" : "written",
                right ? "" : "  <- wrong");
    return right ? 0 : 1;
}

/// The vectors with a field of a descriptor changed.
static Vectors changed(const Vectors& v, unsigned place, int at, int bits, unsigned value) {
    Vectors bad = v;
    change(bad.programme, place, at, bits, value);
    return bad;
}

/// Programmes and streams that are each wrong in one way. Returns how many checks failed.
static int check_refusals(const Vectors& v) {
    Vectors bad = v;
    bad.descriptors = 0;
    int failed = check("no descriptors", bad, 0);
    bad.descriptors = PROGRAMME + 1;
    failed += check("too many descriptors", bad, 1u << PROGRAMME_OVER_CAPACITY);
    if (v.descriptors == 0) return failed;

    const unsigned last = v.descriptors - 1;
    unsigned first = 0;  // descriptor that computes
    while (field(v.programme, first, OPERATION_AT, OPERATION_BITS) == OPERATION_LOAD) ++first;
    unsigned combination = first;  // the first one whose results go to the tables, if any do
    while (combination < last && field(v.programme, combination, TARGET_AT, TARGET_BITS) != TARGET_TABLE) ++combination;
    const struct {
        const char* what;
        int at, bits;
        unsigned value;
    } wrong[] = {
        {"operation", OPERATION_AT, OPERATION_BITS, 3},
        {"mode", MODE_AT, MODE_BITS, MODES < 1 << MODE_BITS ? MODES : 0},
        {"region", REGION_AT, REGION_BITS, 3},
        {"no slot row", COUNT_AT, COUNT_BITS, 0},
        {"no tile", TILES_AT, TILES_BITS, 0},
        {"tiles", TILES_AT, TILES_BITS, TILES + 1},
        {"target", TARGET_AT, TARGET_BITS, TARGET_BIAS},
        {"no row width", TARGET_TILES_AT, TARGET_TILES_BITS, 0},
        {"shift", SHIFT_AT, SHIFT_BITS, SHIFTS < 1 << SHIFT_BITS ? SHIFTS : 0},
        {"maximum", REDUCE_AT, REDUCE_BITS, MAXIMUM ? 0 : 1},
        {"accumulate", ACCUMULATE_AT, ACCUMULATE_BITS, PARTIAL_WORDS > 0 ? 0 : 1},
        {"pair", PAIR_AT, PAIR_BITS, 1},
        {"residual", RESIDUAL_AT, RESIDUAL_BITS, RESIDUAL ? 0 : 1},
        {"spare bits", SPARE_HIGH_AT, SPARE_HIGH_BITS, 1},
        {"activation", ACTIVATION_AT, ACTIVATION_BITS, 3},
        {"bits", BITS_AT, BITS_BITS, WORD_BITS + 1},
    };
    for (const auto& one : wrong) {
        // An engine with all modes, all shifts or any of the rest offers what a descriptor can name.
        if (field(v.programme, first, one.at, one.bits) == one.value) continue;
        const bool may = one.at == MODE_AT || one.at == SHIFT_AT || one.at == REDUCE_AT || one.at == ACCUMULATE_AT ||
                         one.at == RESIDUAL_AT;
        const bool offered = may && one.value == 0;
        if (offered) continue;
        failed += check(one.what, changed(v, first, one.at, one.bits, one.value), 1u << BAD_DESCRIPTOR);
    }
    failed += check("no beat of logits", changed(v, last, RESULT_BEATS_AT, RESULT_BEATS_BITS, 0), 1u << BAD_DESCRIPTOR);
    failed += check("a load of logits", changed(v, 0, TARGET_AT, TARGET_BITS, TARGET_LOGITS), 1u << BAD_DESCRIPTOR);
    failed += check("no beats to load", changed(v, 0, BEATS_AT, BEATS_BITS, 0), 1u << STREAM_TOO_SHORT);
    failed += check("a stream that ends early",
                    changed(v, first, BEATS_AT, BEATS_BITS, field(v.programme, first, BEATS_AT, BEATS_BITS) - 1),
                    1u << STREAM_TOO_SHORT, first == last);  // it may have written what came before
    failed += check("an index beyond the limit", changed(v, first, LIMIT_AT, LIMIT_BITS, 0), 1u << INDEX_OUT_OF_RANGE,
                    first == last);
    failed += check("words beyond the table", changed(v, 0, TARGET_BASE_AT, TARGET_BASE_BITS, TABLE_WORDS - 1),
                    field(v.programme, 0, COUNT_AT, COUNT_BITS) > 1 ? 1u << MEMORY_OVER_CAPACITY : 0, true);
    if (field(v.programme, combination, TARGET_AT, TARGET_BITS) == TARGET_TABLE) {
        failed += check("results beyond the table",
                        changed(v, combination, TARGET_BASE_AT, TARGET_BASE_BITS, (1u << TARGET_BASE_BITS) - 1),
                        1u << MEMORY_OVER_CAPACITY);
    }
    const bool several = field(v.programme, first, LIMIT_AT, LIMIT_BITS) > 1;  // else the last word holds them
    failed += check("entries beyond the table", changed(v, first, TABLE_BASE_AT, TABLE_BASE_BITS, TABLE_WORDS - 1),
                    several ? 1u << MEMORY_OVER_CAPACITY : 0, !several);
    const unsigned beats = field(v.programme, last, RESULT_BEATS_AT, RESULT_BEATS_BITS);
    failed += check("a beat of logits too many", changed(v, last, RESULT_BEATS_AT, RESULT_BEATS_BITS, beats + 1),
                    1u << SCHEDULE_BROKEN, true);
    if (beats > 1) {
        failed += check("a beat of logits too few", changed(v, last, RESULT_BEATS_AT, RESULT_BEATS_BITS, beats - 1),
                        1u << SCHEDULE_BROKEN, true);
    }
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
