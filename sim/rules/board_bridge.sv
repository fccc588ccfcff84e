// The rules of the bridge: what the line can never do to memory and registers.

`default_nettype none

module board_bridge_rules #(
  parameter int unsigned BeatBytes   = 16,
  parameter int unsigned MemoryBytes = 1 << 16
) (
  input wire                                       clk_i,
  input wire                                       rst_i,
  input wire                                       good_i,     // the frame is whole and undamaged
  input wire [7:0]                                 number_i,   // of the frame
  input wire [7:0]                                 expected_i,
  input wire                                       running_i,
  input wire                                       reads_i,
  input wire                                       writes_i,
  input wire [31:0]                                address_i,
  input wire                                       register_i,
  input wire                                       register_write_i,
  input wire [fgnas_pkg::RegisterAddressBits-1:0]  register_address_i
);
  logic seen_q = 1'b0;  // a reset
  always_ff @(posedge clk_i) begin
    if (rst_i) seen_q <= 1'b1;
    if (seen_q && !rst_i) begin
      if (reads_i || writes_i) begin
        within_memory: assert ({1'b0, address_i} + 33'(BeatBytes) <= 33'(MemoryBytes))
        else $error("the bridge leaves the memory");
        whole_beats: assert (address_i % 32'(BeatBytes) == '0) else $error("the bridge accesses a part of a beat");
        memory_while_resting: assert (!running_i) else $error("the bridge accesses memory while the kernel runs");
      end
      if (writes_i || register_i) begin
        good_frames: assert (good_i) else $error("the bridge executes a damaged frame");
        in_turn: assert (number_i == expected_i) else $error("the bridge executes a frame out of its turn");
      end
      if (register_i && register_write_i) begin
        no_interrupts: assert (register_address_i == fgnas_pkg::AtControl ||
                               register_address_i > fgnas_pkg::AtInterruptStatus)
        else $error("the bridge lets the host change the kernel's interrupt");
      end
    end
  end
endmodule

bind board_bridge board_bridge_rules #(.BeatBytes(BeatBytes), .MemoryBytes(MemoryBytes)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .good_i(good_q), .number_i(request_q.number), .expected_i(expected_q),
  .running_i(running_i), .reads_i(arvalid_o), .writes_i(awvalid_o || wvalid_o), .address_i(address_o),
  .register_i(register_valid_o), .register_write_i(register_write_o), .register_address_i(register_address_o)
);

`default_nettype wire
