// Puts a simulated board at the end of a TCP connection: the bytes of the connection go over the board's serial line, bit
// by bit, and back.
//
//   board_line STEP [PORT]
//
// A bit lasts 65536 / STEP cycles, as in the RTL. The port is one of this machine, by default any free one. Prints "port
// N" when it listens, serves one connection after the other, and ends when it is told to, or when the process that
// started it has ended. A connection that ends is followed by the next one with the board as it is, as a cable is pulled
// and put back.
#include <arpa/inet.h>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include "Vboard.h"
#include "verilated.h"

static volatile std::sig_atomic_t told_to_end = 0;
static void end(int) { told_to_end = 1; }

/// The clock of the bits, as in board_line_in.sv and board_line_out.sv.
class Phase {
public:
    explicit Phase(uint32_t step) : step_(step) {}
    void begin(uint32_t at) { at_ = at; }
    bool tick() {
        at_ += step_;
        const bool over = at_ >> 16;
        at_ &= 0xffff;
        return over;
    }

private:
    uint32_t step_, at_ = 0;
};

/// Bytes to the board, a bit at a time.
class ToBoard {
public:
    explicit ToBoard(uint32_t step) : phase_(step) {}
    void put(uint8_t byte) { waiting_.push_back(byte); }
    std::size_t waiting() const { return waiting_.size() + (left_ != 0); }
    /// The level of the line in the next cycle.
    bool level() {
        if (left_ == 0) {
            if (waiting_.empty()) return true;
            bits_ = waiting_.front() << 1 | 0x200;
            waiting_.pop_front();
            left_ = 10;
            phase_.begin(0);
        } else if (phase_.tick()) {
            bits_ >>= 1;
            if (--left_ == 0) return true;
        }
        return bits_ & 1;
    }

private:
    Phase phase_;
    std::deque<uint8_t> waiting_;
    uint32_t bits_ = 0, left_ = 0;
};

/// Bytes from the board.
class FromBoard {
public:
    explicit FromBoard(uint32_t step) : phase_(step) {}
    bool idle() const { return count_ == 0; }
    /// Whether a byte ends with this level, which goes to `byte`.
    bool take(bool level, uint8_t& byte) {
        if (count_ == 0) {
            if (level) return false;
            count_ = 1;
            bits_ = 0;
            phase_.begin(0x8000);
        } else if (phase_.tick()) {
            if (count_ > 1 && count_ < 10) bits_ |= level << (count_ - 2);
            if (count_ == 10) {
                if (!level) throw std::runtime_error("the board sent a byte without a stop bit");
                count_ = 0;
                byte = bits_;
                return true;
            }
            ++count_;
        }
        return false;
    }

private:
    Phase phase_;
    uint32_t count_ = 0, bits_ = 0;
};

/// A port of this machine and the connection to it.
class Server {
public:
    explicit Server(uint16_t port) {
        listener_ = socket(AF_INET, SOCK_STREAM, 0);
        const int yes = 1;
        setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        sockaddr_in place{};
        place.sin_family = AF_INET;
        place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        place.sin_port = htons(port);
        socklen_t size = sizeof place;
        if (bind(listener_, reinterpret_cast<sockaddr*>(&place), size) || listen(listener_, 1) ||
            getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &size)) {
            throw std::runtime_error("cannot listen");
        }
        std::printf("port %u\n", ntohs(place.sin_port));
        std::fflush(stdout);
    }
    /// What arrived, waiting so many milliseconds at most; the number of bytes.
    std::size_t receive(uint8_t* place, std::size_t size, int milliseconds) {
        pollfd wait{connection_ < 0 ? listener_ : connection_, POLLIN, 0};
        if (poll(&wait, 1, milliseconds) <= 0) return 0;
        if (connection_ < 0) {
            connection_ = accept(listener_, nullptr, nullptr);
            const int yes = 1;
            setsockopt(connection_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
            return 0;
        }
        const ssize_t count = recv(connection_, place, size, 0);
        if (count <= 0) {
            close(connection_);
            connection_ = -1;
            return 0;
        }
        return static_cast<std::size_t>(count);
    }
    /// To nobody if nobody is connected, as a line does.
    void send(uint8_t byte) {
        if (connection_ >= 0 && ::send(connection_, &byte, 1, MSG_NOSIGNAL) != 1) {
            close(connection_);
            connection_ = -1;
        }
    }

private:
    int listener_, connection_ = -1;
};

static int simulate(int argc, char** argv) {
    std::signal(SIGTERM, end);
    const uint32_t step = std::strtoul(argv[1], nullptr, 10);
    VerilatedContext context;
    context.commandArgs(argc, argv);
    Vboard board(&context);
    ToBoard to(step);
    FromBoard from(step);
    Server server(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0);
    uint8_t buffer[1 << 16], byte;
    // While the line rests and the kernel does not run, the simulation waits for bytes in steps of a millisecond.
    const uint64_t quiet_cycles = 20000, poll_cycles = 1000;
    const pid_t parent = getppid();
    uint64_t quiet = 0;
    board.rst_i = 1;
    board.line_i = 1;
    for (uint64_t cycle = 0; !told_to_end && !context.gotFinish(); ++cycle) {
        if (cycle == 16) board.rst_i = 0;
        if (cycle % poll_cycles == 0 && getppid() != parent) break;  // a process without its parent gets another one
        if (cycle % poll_cycles == 0 && to.waiting() < sizeof buffer) {
            const std::size_t count = server.receive(buffer, sizeof buffer, quiet > quiet_cycles ? 1 : 0);
            for (std::size_t i = 0; i < count; ++i) to.put(buffer[i]);
        }
        const bool rests = to.waiting() == 0 && from.idle() && !board.running_o;
        quiet = rests ? quiet + 1 : 0;
        if (cycle >= 16) board.line_i = to.level();
        board.clk_i = 0;
        board.eval();
        context.timeInc(1);
        board.clk_i = 1;
        board.eval();
        context.timeInc(1);
        if (cycle >= 16 && from.take(board.line_o, byte)) server.send(byte);
    }
    board.final();
    return context.gotError() ? 1 : 0;
}

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: board_line STEP [PORT]\n");
        return 2;
    }
    try {
        return simulate(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
