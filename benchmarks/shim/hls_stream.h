// hls::stream for the measurement of recurrences alone: a port whose next word is unknown to the optimiser. Nothing
// runs with it.
#pragma once

namespace hls {

template <class T>
class stream {
    typedef unsigned _BitInt(8 * sizeof(T)) Raw;
    volatile Raw port;

public:
    stream() = default;
    explicit stream(const char*) {}
    T read() {
        const Raw raw = port;
        T value;
        __builtin_memcpy(&value, &raw, sizeof(T));
        return value;
    }
    void read(T& value) { value = read(); }
    void write(const T& value) {
        Raw raw = 0;
        __builtin_memcpy(&raw, &value, sizeof(T));
        port = raw;
    }
};

}  // namespace hls
