// Cells of an ECP5 of which Yosys has no model, as Yosys uses them: other settings end the simulation.
// Their pins have single names in a netlist: `board/cells.sv.j2` joins them.

`default_nettype none

// A block RAM of 1,024 words of 18 bits, with two ports. Words of 36 bits are written through A and read through B, with
// the data pins of both. Words of 4 bits or less leave out every ninth bit. A word that is read through one port while it
// is written through the other is wrong: the part promises nothing.
module board_cell_ram #(
  parameter int unsigned WidthA  = 18,
  parameter int unsigned WidthB  = 18,
  parameter bit          ThroughA = 1'b0,  // a port that writes reads what it writes
  parameter bit          ThroughB = 1'b0,
  parameter bit          BeforeA = 1'b0,   // it reads what was there before; otherwise it reads nothing
  parameter bit          BeforeB = 1'b0,
  parameter logic [64*320-1:0] Init        // 16 words in each 320 bits, 20 bits apart
) (
  input  wire         clk_ai,
  input  wire         enable_ai,
  input  wire         write_ai,
  input  wire         reset_ai,
  input  wire  [13:0] address_ai,
  input  wire  [17:0] data_ai,
  output logic [17:0] data_ao,
  input  wire         clk_bi,
  input  wire         enable_bi,
  input  wire         write_bi,
  input  wire         reset_bi,
  input  wire  [13:0] address_bi,
  input  wire  [17:0] data_bi,
  output logic [17:0] data_bo
);
  // The lowest bit of a word of some width among the 36 bits of two words.
  function automatic int unsigned lowest(input int unsigned width, input logic [4:0] address);
    return (width < 36 ? 18 * 32'(address[4]) : 0) + (width < 18 ? 9 * 32'(address[3]) : 0) +
        (width < 9 ? 32'(address[2:0]) & ~(width - 1) : 0);
  endfunction
  // The bits of such a word, and those of them that are written: from 18 bits on, address bits enable 9 each.
  function automatic logic [35:0] bits(input int unsigned width, input logic [4:0] address);
    return ((36'd1 << width) - 36'd1) << lowest(width, address);
  endfunction
  function automatic logic [35:0] written(input int unsigned width, input logic [4:0] address);
    logic [35:0] enabled;
    for (int b = 0; b < 4; b++) enabled[9*b+:9] = {9{width < 18 || address[width<36 ? b%2 : b]}};
    return bits(width, address) & enabled;
  endfunction

  logic [35:0] memory[512];
  logic [17:0] own_q;
  logic [35:0] read_q;
  initial begin
    for (int w = 0; w < 1024; w++) memory[w/2][18*(w%2)+:18] = Init[320*(w/16)+20*(w%16)+:18];
    own_q  = '0;
    read_q = '0;
  end

  logic writes_a, writes_b, meets_a, meets_b;
  logic [35:0] written_a, written_b, now_a, now_b, next_a, next_b, read_a, read_b;
  assign writes_a  = enable_ai && write_ai && !reset_ai;
  assign writes_b  = enable_bi && write_bi && !reset_bi;
  assign written_a = written(WidthA, address_ai[4:0]);
  assign written_b = written(WidthB, address_bi[4:0]);
  assign now_a     = memory[address_ai[13:5]];
  assign now_b     = memory[address_bi[13:5]];
  assign next_a    = now_a & ~written_a |
      (36'({WidthA == 36 ? data_bi : 18'd0, data_ai}) << lowest(WidthA, address_ai[4:0])) & written_a;
  assign next_b    = now_b & ~written_b | (36'(data_bi) << lowest(WidthB, address_bi[4:0])) & written_b;
  assign meets_a   = writes_b && address_ai[13:5] == address_bi[13:5] && |(bits(WidthA, address_ai[4:0]) & written_b);
  assign meets_b   = writes_a && address_ai[13:5] == address_bi[13:5] && |(bits(WidthB, address_bi[4:0]) & written_a);
  assign read_a    = (meets_a ? ~now_a : writes_a && ThroughA ? next_a : now_a) >> lowest(WidthA, address_ai[4:0]);
  assign read_b    = (meets_b ? ~now_b : writes_b && ThroughB ? next_b : now_b) >> lowest(WidthB, address_bi[4:0]);
  always @(posedge clk_ai) begin
    if (writes_a) memory[address_ai[13:5]] <= next_a;
    if (reset_ai) own_q <= '0;
    else if (enable_ai && (!write_ai || ThroughA || BeforeA)) own_q <= 18'(read_a);
  end
  always @(posedge clk_bi) begin
    if (writes_b) memory[address_bi[13:5]] <= next_b;
    if (reset_bi) read_q <= '0;
    else if (enable_bi && (!write_bi || ThroughB || BeforeB)) read_q <= read_b;
    one_writes: assert (!(writes_a && writes_b && address_ai[13:5] == address_bi[13:5]))
    else $error("two ports of a block RAM write beside each other");
  end
  assign data_ao = WidthB == 36 ? read_q[17:0] : own_q;
  assign data_bo = WidthB == 36 ? read_q[35:18] : read_q[17:0];
endmodule

`default_nettype wire
