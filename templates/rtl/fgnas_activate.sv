// Z = table[U], U = saturate(Y + b). The table is outside, one a lane; it answers a cycle later.

`default_nettype none

module fgnas_activate #(
  parameter int unsigned Lanes     = 4,
  parameter int unsigned Tiles     = 2,
  parameter int unsigned YBits     = 16,
  parameter int unsigned ValueBits = 8
) (
  input  wire                              clk_i,
  input  wire                              rst_i,
  input  wire                              load_i,       // a tile of biases
  /* verilator lint_off UNUSEDSIGNAL */  // fields narrower than the format's limits
  input  wire  fgnas_pkg::beat_t           load_data_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire                              row_i,
  output logic                             read_o,
  output logic                             read_last_o,
  input  wire  [Lanes-1:0][YBits-1:0]      y_i,
  output logic [Lanes-1:0][ValueBits-1:0]  u_o,
  input  wire                              free_i,
  output logic                             reserve_o,
  output logic                             write_o,
  output logic                             write_last_o
);
  localparam int unsigned TileBits = (Tiles > 1) ? $clog2(Tiles) : 1;
  localparam int unsigned SumBits = ((YBits > ValueBits) ? YBits : ValueBits) + 1;

  logic [TileBits-1:0] tile_q, load_tile_q;
  logic row_open_q;
  assign read_o      = row_open_q || (row_i && free_i);
  assign read_last_o = read_o && (tile_q == TileBits'(Tiles - 1));
  assign reserve_o   = read_o && !row_open_q;

  logic [1:0] valid_q, last_q;
  always_ff @(posedge clk_i) begin
    if (read_o) begin
      tile_q     <= read_last_o ? '0 : tile_q + 1'b1;
      row_open_q <= !read_last_o;
    end
    if (load_i) load_tile_q <= load_tile_q + 1'b1;
    {write_o, valid_q}     <= {valid_q, read_o};
    {write_last_o, last_q} <= {last_q, read_last_o};
    if (rst_i) begin
      tile_q       <= '0;
      load_tile_q  <= '0;
      row_open_q   <= 1'b0;
      valid_q      <= '0;
      last_q       <= '0;
      write_o      <= 1'b0;
      write_last_o <= 1'b0;
    end
  end

  (* ram_style = "distributed" *) logic [Lanes*ValueBits-1:0] biases[Tiles];
  logic [Lanes*ValueBits-1:0] load_word, bias_q;
  for (genvar l = 0; l < Lanes; l++) begin : gen_word
    assign load_word[l*ValueBits+:ValueBits] = load_data_i[fgnas_pkg::WordBits*l+:ValueBits];
  end
  always_ff @(posedge clk_i) begin
    if (load_i) biases[load_tile_q] <= load_word;
    bias_q <= biases[tile_q];
  end

  logic [Lanes-1:0][YBits-1:0] y_q;
  logic [Lanes-1:0][ValueBits-1:0] u;
  always_ff @(posedge clk_i) begin
    y_q <= y_i;
    u_o <= u;
  end
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic signed [SumBits-1:0] sum;
    assign sum = SumBits'(signed'(y_q[l])) + SumBits'(signed'(bias_q[l*ValueBits+:ValueBits]));
    fgnas_requantise #(.InBits(SumBits), .Shift(0), .OutBits(ValueBits)) u_saturate (.value_i(sum), .value_o(u[l]));
  end
endmodule

`default_nettype wire
