// A stand-in for XRT, for the functions that a project's host program uses: one device whose kernel is the C++ of the
// project, buffers whose two sides are apart until they are synchronised, and registers that only one process reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

enum xclBOSyncDirection { XCL_BO_SYNC_BO_TO_DEVICE, XCL_BO_SYNC_BO_FROM_DEVICE };
enum ert_cmd_state { ERT_CMD_STATE_COMPLETED = 4, ERT_CMD_STATE_TIMEOUT = 8 };

namespace fake {
struct Memory {
    std::vector<char> host, device;
    int group;
};
struct Value {
    bool given = false;
    std::uint32_t number = 0;
    std::shared_ptr<Memory> memory;
};
/// Runs the kernel on the device's side of its buffers; returns the status. The test makes it from the registers.
std::uint32_t run(std::vector<Value>& values);
/// Offset of the status register, and the group of the memory that an argument is connected to.
extern const unsigned status_at;
int group_of(int argument);
extern const int arguments;
}  // namespace fake

namespace xrt {
struct uuid {};

struct device {
    explicit device(unsigned number) {
        if (number != 0) throw std::runtime_error("no such device");
    }
    uuid load_xclbin(const std::string& path) {
        if (path != "kernel.xclbin") throw std::runtime_error("failed to open " + path);
        return uuid();
    }
};

class kernel {
  public:
    enum class cu_access_mode { exclusive, shared };
    kernel(const device&, const uuid&, const std::string& name, cu_access_mode mode) : mode_(mode), status_(new std::uint32_t(0)), stopped_(new bool(false)) {
        if (name != "fgnas_top") throw std::runtime_error("no kernel " + name);
    }
    int group_id(int argument) const { return fake::group_of(argument); }
    std::uint32_t read_register(std::uint32_t offset) const {
        if (mode_ != cu_access_mode::exclusive) throw std::runtime_error("not exclusive");
        if (offset != fake::status_at) throw std::runtime_error("not the status");
        return *status_;
    }
    void write_register(std::uint32_t offset, std::uint32_t value) {
        if (mode_ != cu_access_mode::exclusive) throw std::runtime_error("not exclusive");
        if (offset != 0 || value != 0x100) throw std::runtime_error("not a stop");
        *stopped_ = std::string(std::getenv("FAKE_HANG")) != "for ever";
    }
    cu_access_mode mode_;
    std::shared_ptr<std::uint32_t> status_;
    std::shared_ptr<bool> stopped_;
};

class bo {
  public:
    bo() = default;
    bo(const device&, std::size_t bytes, int group) : memory_(new fake::Memory{std::vector<char>(bytes), std::vector<char>(bytes, 0x33), group}) {
        if (bytes == 0) throw std::runtime_error("a buffer has bytes");
    }
    void write(const void* from, std::size_t bytes, std::size_t seek) { std::memcpy(memory_->host.data() + seek, from, bytes); }
    void read(void* to, std::size_t bytes, std::size_t skip) { std::memcpy(to, memory_->host.data() + skip, bytes); }
    void sync(xclBOSyncDirection direction) {
        if (direction == XCL_BO_SYNC_BO_TO_DEVICE) memory_->device = memory_->host;
        else memory_->host = memory_->device;
    }
    std::shared_ptr<fake::Memory> memory_;
};

class run {
  public:
    explicit run(const kernel& of) : kernel_(of), values_(fake::arguments) {}
    void set_arg(int place, std::uint32_t number) {
        values_.at(place).given = true;
        values_.at(place).number = number;
    }
    void set_arg(int place, const bo& buffer) {
        if (buffer.memory_->group != fake::group_of(place)) throw std::runtime_error("a buffer in another memory");
        values_.at(place).given = true;
        values_.at(place).memory = buffer.memory_;
    }
    void start() { *kernel_.status_ = fake::run(values_); }
    ert_cmd_state wait(const std::chrono::milliseconds& timeout) const {
        if (std::getenv("FAKE_HANG") && !*kernel_.stopped_ && timeout.count() > 0) return ERT_CMD_STATE_TIMEOUT;
        return ERT_CMD_STATE_COMPLETED;
    }
    kernel kernel_;
    std::vector<fake::Value> values_;
};
}  // namespace xrt
