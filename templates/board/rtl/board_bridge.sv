// Executes the frames of the line, one after the other, and answers each.
//
// A frame is executed only if it is good and has the number that follows that of the last one executed. The same frame
// again (its answer was lost) is answered again and not executed a second time; only a read of memory is. Whatever
// else a frame is, nothing happens but its answer, which says why and which number is expected. Memory is accessed in
// single beats within `MemoryBytes`, and only while the kernel rests.
//
// If memory or kernel do not answer within 2^WaitBits cycles, both are reset and the frame's answer says so.

`default_nettype none

module board_bridge #(
  parameter int unsigned BeatBytes   = 16,
  parameter int unsigned MemoryBytes = 1 << 16,
  parameter int unsigned ClockHz     = 50_000_000,
  parameter logic [31:0] Design      = '0,
  parameter bit          Timed       = 1'b1,  // the memory keeps the time of the latency model
  parameter int unsigned WaitBits    = 16
) (
  input  wire                         clk_i,
  input  wire                         rst_i,
  // frames that have come
  input  wire                         frame_valid_i,
  input  wire                         frame_good_i,
  input  wire board_pkg::request_t    frame_i,
  input  wire  [31:0]                 frame_crc_i,
  input  wire                         frame_half_i,
  output logic                        frame_take_o,
  output logic                        frame_done_o,
  output logic                        half_o,
  input  wire                         frame_dropped_i,
  output logic [10:0]                 payload_address_o,
  input  wire  [7:0]                  payload_i,     // a cycle after its address
  // the answer, byte by byte
  output logic                        answer_valid_o,
  input  wire                         answer_ready_i,
  output logic [7:0]                  answer_o,
  output logic                        answer_last_o,
  // the kernel's registers
  output logic                        register_valid_o,
  output logic                        register_write_o,
  output logic [fgnas_pkg::RegisterAddressBits-1:0] register_address_o,
  output logic [31:0]                 register_data_o,
  input  wire                         register_done_i,
  input  wire  [31:0]                 register_data_i,
  input  wire                         running_i,     // the kernel owns the memory
  input  wire  [63:0]                 cycles_i,      // of its last run
  output logic                        reset_o,       // of kernel and memory, for one cycle
  // memory, in single beats
  input  wire                         memory_ready_i,
  output logic [31:0]                 address_o,     // of reads and writes
  output logic                        arvalid_o,
  input  wire                         arready_i,
  input  wire  [8*BeatBytes-1:0]      rdata_i,
  input  wire                         rvalid_i,
  output logic                        awvalid_o,
  input  wire                         awready_i,
  output logic [8*BeatBytes-1:0]      wdata_o,
  output logic                        wvalid_o,
  input  wire                         wready_i,
  input  wire                         bvalid_i
);
  localparam int unsigned BeatAlign = $clog2(BeatBytes);
  typedef enum logic [3:0] {
    Rest,
    Decide,
    Gather,      // bytes of a beat, or of a register, from the frame's buffer
    Store,       // the beat into the memory
    Register,
    Header,      // of the answer
    Fetch,       // a beat from the memory
    Payload      // of the answer: its bytes
  } state_e;
  state_e state_q;

  // ---- the frame ----
  board_pkg::request_t request_q;
  logic good_q;
  logic [31:0] crc_q;
  logic [7:0] expected_q;
  logic last_known_q;           // a frame was executed since the last greeting
  logic [31:0] last_crc_q;
  logic [31:0] value_q;         // read from a register by it
  logic again;                  // the frame is that one
  assign again = last_known_q && request_q.number == expected_q - 8'd1 && crc_q == last_crc_q;

  logic reads, writes, reads_register, writes_register, of_kernel, aligned, in_memory, in_registers;
  assign reads           = request_q.operation == board_pkg::OperationRead;
  assign writes          = request_q.operation == board_pkg::OperationWrite;
  assign reads_register  = request_q.operation == board_pkg::OperationReadRegister;
  assign writes_register = request_q.operation == board_pkg::OperationWriteRegister;
  assign of_kernel       = request_q.address < board_pkg::KernelRegisterBytes;
  assign aligned         = request_q.address[BeatAlign-1:0] == '0 && request_q.length[BeatAlign-1:0] == '0;
  assign in_memory       = aligned && request_q.length != '0 && request_q.length <= 16'(board_pkg::PayloadBytes) &&
                           {1'b0, request_q.address} + 33'(request_q.length) <= 33'(MemoryBytes);
  // Of the kernel's registers a host writes the arguments, and the start. Its interrupt belongs to the board.
  assign in_registers    = request_q.length == 16'(board_pkg::WordBytes) && request_q.address[1:0] == '0 &&
                           (of_kernel ? reads_register || request_q.address == 32'(fgnas_pkg::AtControl) ||
                                        request_q.address > 32'(fgnas_pkg::AtInterruptStatus)
                                      : reads_register && request_q.address <= board_pkg::AtDropped);

  logic [7:0] decided, status_q;
  always_comb begin
    decided = board_pkg::StatusDone;
    if (!good_q) begin
      decided = board_pkg::StatusDamaged;
    end else if (request_q.operation == board_pkg::OperationGreet) begin
      decided = board_pkg::StatusDone;
    end else if (request_q.number != expected_q && !again) begin
      decided = board_pkg::StatusUnexpected;
    end else if (request_q.operation == board_pkg::OperationReset) begin
      decided = board_pkg::StatusDone;
    end else if (reads || writes) begin
      if (running_i || !memory_ready_i) decided = board_pkg::StatusBusy;
      if (!in_memory) decided = board_pkg::StatusOutside;
    end else if (reads_register || writes_register) begin
      if (running_i && writes_register) decided = board_pkg::StatusBusy;
      if (!in_registers) decided = board_pkg::StatusOutside;
    end else begin
      decided = board_pkg::StatusUnknown;
    end
  end

  // ---- registers of the board ----
  logic [31:0] bad_q, dropped_q, word;
  always_comb begin
    unique case (request_q.address)
      board_pkg::AtMagic: word = board_pkg::Magic;
      board_pkg::AtVersion: word = board_pkg::Version;
      board_pkg::AtBeatBytes: word = 32'(BeatBytes);
      board_pkg::AtMemoryBytes: word = 32'(MemoryBytes);
      board_pkg::AtClock: word = 32'(ClockHz);
      board_pkg::AtDesign: word = Design;
      board_pkg::AtState: word = {29'b0, Timed, memory_ready_i, running_i};
      board_pkg::AtCyclesLow: word = cycles_i[31:0];
      board_pkg::AtCyclesHigh: word = cycles_i[63:32];
      board_pkg::AtDamaged: word = bad_q;
      default: word = dropped_q;
    endcase
  end

  // ---- bytes of a beat ----
  logic [BeatBytes-1:0][7:0] beat_q;
  logic [BeatAlign:0] bytes_q, wanted_q;  // gathered or sent of the beat, and how many there are
  logic [9:0] payload_q;                  // of the next byte in the frame's buffer
  logic arrives_q;                        // that byte is at the buffer's output
  logic [15:0] left_q;                    // bytes of the payload that were not gathered or fetched
  logic [3:0] header_q;                   // bytes of the header that were sent
  logic asked_q, given_q;                 // address and data were accepted
  logic [WaitBits-1:0] wait_q;
  logic waits;                            // for memory or kernel
  logic late;
  assign waits             = state_q == Store || state_q == Register || state_q == Fetch;
  assign late              = &wait_q;
  assign payload_address_o = {half_o, payload_q};
  assign register_valid_o  = state_q == Register;
  assign register_write_o  = writes_register;
  assign register_address_o = request_q.address[fgnas_pkg::RegisterAddressBits-1:0];
  assign register_data_o   = beat_q[BeatBytes-1-:4];
  assign arvalid_o         = state_q == Fetch && !asked_q;
  assign awvalid_o         = state_q == Store && !asked_q;
  assign wvalid_o          = state_q == Store && !given_q;
  assign wdata_o           = beat_q;

  // ---- the answer ----
  board_pkg::answer_t header;
  logic answers_bytes;  // a payload follows its header
  assign answers_bytes = (reads || reads_register) && status_q == board_pkg::StatusDone;
  assign header        = '{
    number: request_q.number, status: status_q, expected: expected_q,
    length: answers_bytes ? request_q.length : 16'd0
  };
  logic header_last;
  assign header_last    = header_q == 4'(board_pkg::AnswerBytes - 1);
  assign answer_valid_o = state_q == Header || state_q == Payload;
  assign answer_o       = state_q == Header ? header[8*header_q+:8] : beat_q[0];
  assign answer_last_o  = state_q == Header ? header_last && !answers_bytes
                                            : bytes_q == wanted_q - 1'b1 && left_q == '0;

  assign frame_take_o = state_q == Rest && frame_valid_i;
  assign frame_done_o = answer_valid_o && answer_ready_i && answer_last_o;

  always_ff @(posedge clk_i) begin
    automatic logic executed = 1'b0;  // the next frame has the next number
    reset_o   <= 1'b0;
    arrives_q <= 1'b0;
    wait_q    <= waits ? wait_q + 1'b1 : '0;
    if (frame_dropped_i) dropped_q <= dropped_q + 1'b1;
    unique case (state_q)
      Rest: begin
        request_q <= frame_i;
        good_q    <= frame_good_i;
        crc_q     <= frame_crc_i;
        half_o    <= frame_half_i;
        payload_q <= '0;
        bytes_q   <= '0;
        header_q  <= '0;
        if (frame_valid_i) state_q <= Decide;
      end
      Decide: begin
        status_q  <= decided;
        address_o <= request_q.address;
        left_q    <= request_q.length;
        wanted_q  <= (reads || writes) ? (BeatAlign + 1)'(BeatBytes) : (BeatAlign + 1)'(board_pkg::WordBytes);
        state_q   <= Header;
        if (!good_q) bad_q <= bad_q + 1'b1;
        if (decided == board_pkg::StatusDone) begin
          if (request_q.operation == board_pkg::OperationGreet) begin
            executed = 1'b1;
          end else if (!again) begin
            if (request_q.operation == board_pkg::OperationReset) begin
              reset_o  <= 1'b1;
              executed = 1'b1;
            end
            if (reads) executed = 1'b1;
            if (writes || writes_register) state_q <= Gather;
            if (reads_register && of_kernel) state_q <= Register;
            if (reads_register && !of_kernel) begin
              value_q  <= word;
              executed = 1'b1;
            end
          end
        end
      end
      Gather: begin
        // A byte is asked for in one cycle and comes in the next.
        arrives_q <= !arrives_q;
        if (arrives_q) begin
          beat_q    <= {payload_i, beat_q[BeatBytes-1:1]};
          bytes_q   <= bytes_q + 1'b1;
          payload_q <= payload_q + 1'b1;
          if (bytes_q == wanted_q - 1'b1) begin
            bytes_q <= '0;
            left_q  <= left_q - 16'(wanted_q);
            asked_q <= 1'b0;
            given_q <= 1'b0;
            state_q <= writes ? Store : Register;
          end
        end
      end
      Store: begin
        if (awready_i) asked_q <= 1'b1;
        if (wready_i) given_q <= 1'b1;
        if (bvalid_i) begin
          address_o <= address_o + 32'(BeatBytes);
          state_q   <= left_q == '0 ? Header : Gather;
          executed  = left_q == '0;
        end
      end
      Register: begin
        if (register_done_i) begin
          value_q  <= register_data_i;
          state_q  <= Header;
          executed = 1'b1;
        end
      end
      Header: begin
        asked_q <= 1'b0;
        bytes_q <= '0;
        if (reads_register) beat_q[3:0] <= value_q;
        if (answer_ready_i) begin
          header_q <= header_q + 1'b1;
          if (header_last) begin
            state_q <= !answers_bytes ? Rest : reads ? Fetch : Payload;
            left_q  <= reads ? request_q.length : '0;
          end
        end
      end
      Fetch: begin
        if (arready_i) asked_q <= 1'b1;
        if (rvalid_i) begin
          beat_q    <= rdata_i;
          address_o <= address_o + 32'(BeatBytes);
          left_q    <= left_q - 16'(BeatBytes);
          state_q   <= Payload;
        end
      end
      Payload: begin
        asked_q <= 1'b0;
        if (answer_ready_i) begin
          beat_q  <= {8'b0, beat_q[BeatBytes-1:1]};
          bytes_q <= bytes_q + 1'b1;
          if (bytes_q == wanted_q - 1'b1) begin
            bytes_q <= '0;
            state_q <= left_q == '0 ? Rest : Fetch;
          end
        end
      end
      default: state_q <= Rest;
    endcase
    if (late) begin
      // Nobody will answer. The answer to a read has begun: it ends with its next byte, shorter than its header says.
      reset_o  <= 1'b1;
      status_q <= board_pkg::StatusSilent;
      state_q  <= state_q == Fetch ? Payload : Header;
      bytes_q  <= wanted_q - 1'b1;
      left_q   <= '0;
      executed = 1'b0;
    end
    if (executed) begin
      expected_q   <= request_q.number + 8'd1;
      last_crc_q   <= crc_q;
      last_known_q <= request_q.operation != board_pkg::OperationGreet;
    end
    if (rst_i) begin
      state_q      <= Rest;
      expected_q   <= '0;
      last_known_q <= 1'b0;
      reset_o      <= 1'b0;
      bad_q        <= '0;
      dropped_q    <= '0;
      wait_q       <= '0;
    end
  end
endmodule

`default_nettype wire
