// Later layers: dense rows from the activation's row buffer; all lanes share one address of W.

`default_nettype none

module fgnas_linear_dense #(
  parameter int unsigned Groups      = 4,   // of InLanes inputs
  parameter int unsigned InLanes     = 4,
  parameter int unsigned OutLanes    = 4,
  parameter int unsigned Tiles       = 2,
  parameter int unsigned InBits      = 8,
  parameter int unsigned WeightBits  = 8,
  parameter int unsigned SumBits     = 28,
  parameter int          Shift       = 8,
  parameter int unsigned OutBits     = 8,
  parameter int unsigned DspLanes    = 16,
  parameter bit          Distributed = 1'b1  // weights in LUTRAM
) (
  input  wire                               clk_i,
  input  wire                               rst_i,
  input  wire                               load_i,        // words of W for two lanes: group, tile, lane
  /* verilator lint_off UNUSEDSIGNAL */  // fields narrower than the format's limits
  input  wire  fgnas_pkg::beat_t            load_data_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire                               row_i,
  output logic                              read_o,
  output logic                              read_last_o,
  input  wire  [InLanes-1:0][InBits-1:0]    input_i,
  input  wire                               free_i,
  output logic                              reserve_o,
  output logic                              write_o,
  output logic                              write_last_o,
  output logic [OutLanes-1:0][OutBits-1:0]  data_o
);
  localparam int unsigned Words = Groups * Tiles;
  localparam int unsigned AddressBits = (Words > 1) ? $clog2(Words) : 1;
  localparam int unsigned TileBits = (Tiles > 1) ? $clog2(Tiles) : 1;
  localparam int unsigned GroupBits = (Groups > 1) ? $clog2(Groups) : 1;
  localparam int unsigned Pairs = (InLanes + 1) / 2;  // of lanes
  localparam int unsigned PairBits = (Pairs > 1) ? $clog2(Pairs) : 1;
  localparam int unsigned WordBits = OutLanes * WeightBits;

  logic [AddressBits-1:0] word_q;  // group * Tiles + tile
  logic [TileBits-1:0] tile_q;
  logic [GroupBits-1:0] group_q;
  logic row_open_q, tile_last, group_last, issue;
  assign tile_last   = tile_q == TileBits'(Tiles - 1);
  assign group_last  = group_q == GroupBits'(Groups - 1);
  assign issue       = row_open_q || (row_i && free_i);
  assign reserve_o   = issue && !row_open_q;
  assign read_o      = issue && tile_last;
  assign read_last_o = read_o && group_last;

  always_ff @(posedge clk_i) begin
    if (issue) begin
      tile_q     <= tile_last ? '0 : tile_q + 1'b1;
      word_q     <= read_last_o ? '0 : word_q + 1'b1;
      row_open_q <= !read_last_o;
      if (tile_last) group_q <= group_last ? '0 : group_q + 1'b1;
    end
    if (rst_i) begin
      tile_q     <= '0;
      word_q     <= '0;
      group_q    <= '0;
      row_open_q <= 1'b0;
    end
  end

  logic [AddressBits-1:0] address_q;
  logic [InLanes-1:0][InBits-1:0] input_q, input_r_q;
  logic [1:0] valid_q, first_q, last_q, row_last_q;
  always_ff @(posedge clk_i) begin
    address_q  <= word_q;
    input_q    <= input_i;
    input_r_q  <= input_q;
    valid_q    <= rst_i ? '0 : {valid_q[0], issue};
    first_q    <= {first_q[0], group_q == '0};
    last_q     <= {last_q[0], group_last};
    row_last_q <= {row_last_q[0], group_last && tile_last};
  end

  logic [AddressBits-1:0] load_address_q;
  logic [PairBits-1:0] load_pair_q;
  always_ff @(posedge clk_i) begin
    if (load_i) begin
      load_pair_q <= (load_pair_q == PairBits'(Pairs - 1)) ? '0 : load_pair_q + 1'b1;
      if (load_pair_q == PairBits'(Pairs - 1)) load_address_q <= load_address_q + 1'b1;
    end
    if (rst_i) begin
      load_address_q <= '0;
      load_pair_q    <= '0;
    end
  end

  logic [InLanes-1:0][OutLanes-1:0][WeightBits-1:0] weight;
  for (genvar i = 0; i < InLanes; i++) begin : gen_lane
    logic write;
    logic [WordBits-1:0] load_word;
    assign write     = load_i && (load_pair_q == PairBits'(i / 2));
    assign load_word = load_data_i[fgnas_pkg::MemoryWordBits*(i%2)+:WordBits];
    if (Distributed) begin : gen_distributed
      fgnas_distributed_ram #(.Depth(Words), .Width(WordBits)) u_weights (
        .clk_i(clk_i), .write_i(write), .write_address_i(load_address_q), .write_data_i(load_word),
        .read_address_i(address_q), .read_data_o(weight[i])
      );
    end else begin : gen_block
      fgnas_block_ram #(.Depth(Words), .Width(WordBits)) u_weights (
        .clk_i(clk_i), .write_i(write), .write_address_i(load_address_q), .write_data_i(load_word),
        .read_address_i(address_q), .read_data_o(weight[i])
      );
    end
  end

  fgnas_linear_datapath #(
    .InLanes(InLanes), .OutLanes(OutLanes), .Tiles(Tiles), .InBits(InBits), .WeightBits(WeightBits),
    .SumBits(SumBits), .Shift(Shift), .OutBits(OutBits), .DspLanes(DspLanes)
  ) u_datapath (
    .clk_i       (clk_i),
    .rst_i       (rst_i),
    .valid_i     (valid_q[1]),
    .first_i     (first_q[1]),
    .last_i      (last_q[1]),
    .row_last_i  (row_last_q[1]),
    .split_i     ('0),
    .input_i     (input_r_q),
    .weight_i    (weight),
    .write_o     (write_o),
    .write_last_o(write_last_o),
    .data_o      (data_o)
  );
endmodule

`default_nettype wire
