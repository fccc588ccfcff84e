// The rules of the memory's users: bursts stay in their 4 KiB, and beats are written whole or not at all.

`default_nettype none

module board_memory_rules #(
  parameter int unsigned BeatBytes = 16
) (
  input wire                 clk_i,
  input wire                 rst_i,
  input wire [63:0]          araddr_i,
  input wire [7:0]           arlen_i,
  input wire                 arvalid_i,
  input wire [63:0]          awaddr_i,
  input wire [7:0]           awlen_i,
  input wire                 awvalid_i,
  input wire [BeatBytes-1:0] wstrb_i,
  input wire                 wvalid_i
);
  function automatic logic in_page(input logic [63:0] address, input logic [7:0] length);
    return 32'(address[11:0]) + (32'(length) + 32'd1) * 32'(BeatBytes) <= 32'd4096 &&
           address[11:0] % 12'(BeatBytes) == '0;
  endfunction
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      reads_in_page: assert (!arvalid_i || in_page(araddr_i, arlen_i)) else $error("a read leaves its 4 KiB");
      writes_in_page: assert (!awvalid_i || in_page(awaddr_i, awlen_i)) else $error("a write leaves its 4 KiB");
      whole: assert (!wvalid_i || wstrb_i == '0 || wstrb_i == '1) else $error("a part of a beat is written");
    end
  end
endmodule

bind board_memory board_memory_rules #(.BeatBytes(BeatBytes)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .araddr_i(araddr_i), .arlen_i(arlen_i), .arvalid_i(arvalid_i), .awaddr_i(awaddr_i),
  .awlen_i(awlen_i), .awvalid_i(awvalid_i), .wstrb_i(wstrb_i), .wvalid_i(wvalid_i)
);

`default_nettype wire
