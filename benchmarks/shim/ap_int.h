// ap_int and ap_uint on clang's _BitInt, for the measurement of recurrences alone: in LLVM's representation every value
// then has its true width. Only the operations that the emitted sources use are here; a test compares them with the
// headers that `fgnas csim` compiles against.
#pragma once

namespace bits {

template <bool FIRST, class A, class B> struct Choose { typedef A type; };
template <class A, class B> struct Choose<false, A, B> { typedef B type; };
template <int W, bool S> struct Raw { typedef unsigned _BitInt(W) type; };
template <int W> struct Raw<W, true> { typedef signed _BitInt(W) type; };
template <bool WANTED> struct If {};
template <> struct If<true> { typedef int type; };
constexpr int larger(int a, int b) { return a > b ? a : b; }

template <int W, bool S> struct Bits;
template <int W, bool S> struct Slice;

/// Width and sign of an operand; a width of 0 for every other type.
template <class T> struct Of { static constexpr int width = 0; static constexpr bool sign = false; };
template <int W, bool S> struct Of<Bits<W, S> > { static constexpr int width = W; static constexpr bool sign = S; };
template <int W, bool S> struct Of<Slice<W, S> > { static constexpr int width = W; static constexpr bool sign = false; };
#define BITS_BUILTIN(TYPE, WIDTH, SIGN) \
    template <> struct Of<TYPE> { static constexpr int width = WIDTH; static constexpr bool sign = SIGN; };
BITS_BUILTIN(bool, 1, false)
BITS_BUILTIN(signed char, 8, true)
BITS_BUILTIN(unsigned char, 8, false)
BITS_BUILTIN(short, 16, true)
BITS_BUILTIN(unsigned short, 16, false)
BITS_BUILTIN(int, 32, true)
BITS_BUILTIN(unsigned, 32, false)
BITS_BUILTIN(long, 64, true)
BITS_BUILTIN(unsigned long, 64, false)
BITS_BUILTIN(long long, 64, true)
BITS_BUILTIN(unsigned long long, 64, false)
#undef BITS_BUILTIN

/// `to` = `from`. No function takes or returns a wide _BitInt itself: the calling convention would cut it into words.
template <class V, int W, bool S> constexpr void assign(V& to, const Bits<W, S>& from) { to = V(from.v); }
template <class V, int W, bool S> constexpr void assign(V& to, const Slice<W, S>& from) { from.get(to); }
template <class V, class T, typename If<(Of<T>::width > 0)>::type = 0> constexpr void assign(V& to, const T& from) { to = V(from); }

/// A range of bits that can be read and assigned.
template <int W, bool S>
struct Slice {
    typedef typename Raw<W, false>::type Plain;
    Bits<W, S>& of;
    int high, low;

    template <class V> void get(V& to) const {
        to = V((Plain(of.v) >> low) & Plain(Plain(-1) >> (W - 1 - high + low)));
    }
    template <class T> Slice& operator=(const T& value) {
        const Plain mask = Plain(-1) >> (W - 1 - high + low);
        Plain taken = 0;
        assign(taken, value);
        of.v = typename Raw<W, S>::type((Plain(of.v) & ~Plain(mask << low)) | Plain((taken & mask) << low));
        return *this;
    }
    Slice& operator=(const Slice& other) {
        Plain taken = 0;
        other.get(taken);
        return *this = Bits<W, false>(taken, true);
    }
    operator unsigned long long() const {
        unsigned long long value = 0;
        get(value);
        return value;
    }
    unsigned to_uint() const { return unsigned((unsigned long long)*this); }
    int to_int() const { return int((unsigned long long)*this); }
};

template <int W, bool S>
struct Bits {
    typedef typename Raw<W, S>::type Value;
    Value v;

    Bits() = default;
    // Copied by its own functions, so that the calling convention passes its address and does not cut it into words.
    constexpr Bits(const Bits& other) : v(other.v) {}
    constexpr Bits& operator=(const Bits& other) { v = other.v; return *this; }
    template <class T, typename If<(Of<T>::width > 0)>::type = 0>
    constexpr Bits(const T& value) : v(0) { assign(v, value); }
    constexpr Bits(const Value& value, bool) : v(value) {}

    /// As with the headers of the vendor, the type of C++ that holds the value.
    typedef typename Choose<(W <= 32), typename Choose<S, int, unsigned>::type,
                            typename Choose<S, long long, unsigned long long>::type>::type Small;
    constexpr operator Small() const { return Small(v); }
    int to_int() const { return int(v); }
    unsigned to_uint() const { return unsigned(v); }
    long long to_int64() const { return (long long)v; }
    unsigned long long to_uint64() const { return (unsigned long long)v; }

    Slice<W, S> range(int high, int low) { return {*this, high, low}; }
    Slice<W, S> range(int high, int low) const { return {const_cast<Bits&>(*this), high, low}; }
    Slice<W, S> operator()(int high, int low) { return range(high, low); }
    Slice<W, S> operator()(int high, int low) const { return range(high, low); }
    Slice<W, S> operator[](int at) { return range(at, at); }
    bool operator[](int at) const { return bool((typename Raw<W, false>::type(v) >> at) & 1); }
    void set(int at, bool bit) { range(at, at) = bit; }

    Bits operator~() const { return Bits(Value(~v), true); }
    bool operator!() const { return v == 0; }
    Bits<W + 1, true> operator-() const { return Bits<W + 1, true>(-typename Raw<W + 1, true>::type(v), true); }
    Bits& operator++() { v = Value(v + Value(1)); return *this; }
    Bits& operator--() { v = Value(v - Value(1)); return *this; }
    Bits operator++(int) { const Bits before = *this; ++*this; return before; }
    Bits operator<<(int by) const { return Bits(Value(v << by), true); }
    Bits operator>>(int by) const { return Bits(Value(v >> by), true); }
    Bits& operator<<=(int by) { return *this = *this << by; }
    Bits& operator>>=(int by) { return *this = *this >> by; }
    template <class T> Bits& operator+=(const T& other) { return *this = *this + other; }
    template <class T> Bits& operator-=(const T& other) { return *this = *this - other; }
    template <class T> Bits& operator*=(const T& other) { return *this = *this * other; }
    template <class T> Bits& operator&=(const T& other) { return *this = *this & other; }
    template <class T> Bits& operator|=(const T& other) { return *this = *this | other; }
    template <class T> Bits& operator^=(const T& other) { return *this = *this ^ other; }
};

/// Both operands of an operator, one of them no integer of C++; its result has the vendor's width and sign.
template <class A, class B>
struct Pair {
    typedef Of<A> Left;
    typedef Of<B> Right;
    static constexpr bool sign = Left::sign || Right::sign;
    static constexpr int wide = larger(Left::width + (Right::sign && !Left::sign), Right::width + (Left::sign && !Right::sign));
};
template <class T> struct Class { static constexpr bool value = false; };
template <int W, bool S> struct Class<Bits<W, S> > { static constexpr bool value = true; };
template <int W, bool S> struct Class<Slice<W, S> > { static constexpr bool value = true; };
template <class A, class B>
struct Operands : If<(Class<A>::value || Class<B>::value) && (Of<A>::width > 0) && (Of<B>::width > 0)> {};

#define BITS_OPERATOR(OPERATOR, WIDTH, SIGN) \
    template <class A, class B, typename Operands<A, B>::type = 0> \
    constexpr Bits<WIDTH, SIGN> operator OPERATOR(const A& a, const B& b) { \
        typedef typename Raw<WIDTH, SIGN>::type Value; \
        Value left = 0, right = 0; \
        assign(left, a); \
        assign(right, b); \
        left = Value(left OPERATOR right); \
        return Bits<WIDTH, SIGN>(left, true); \
    }
BITS_OPERATOR(+, (Pair<A, B>::wide + 1), (Pair<A, B>::sign))
BITS_OPERATOR(-, (Pair<A, B>::wide + 1), true)
BITS_OPERATOR(*, (Of<A>::width + Of<B>::width), (Pair<A, B>::sign))
BITS_OPERATOR(&, (Pair<A, B>::wide), (Pair<A, B>::sign))
BITS_OPERATOR(|, (Pair<A, B>::wide), (Pair<A, B>::sign))
BITS_OPERATOR(^, (Pair<A, B>::wide), (Pair<A, B>::sign))
#undef BITS_OPERATOR

#define BITS_COMPARISON(OPERATOR) \
    template <class A, class B, typename Operands<A, B>::type = 0> \
    constexpr bool operator OPERATOR(const A& a, const B& b) { \
        typedef typename Raw<Pair<A, B>::wide, Pair<A, B>::sign>::type Value; \
        Value left = 0, right = 0; \
        assign(left, a); \
        assign(right, b); \
        return left OPERATOR right; \
    }
BITS_COMPARISON(==)
BITS_COMPARISON(!=)
BITS_COMPARISON(<)
BITS_COMPARISON(<=)
BITS_COMPARISON(>)
BITS_COMPARISON(>=)
#undef BITS_COMPARISON

}  // namespace bits

template <int W> using ap_int = bits::Bits<W, true>;
template <int W> using ap_uint = bits::Bits<W, false>;
