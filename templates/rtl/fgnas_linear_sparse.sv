// First layer: rows of non-zeros straight from main memory. Every lane addresses its own row of W, so there is a copy
// of W for every two lanes. A beat stays at the front for `Tiles` cycles. A beat that ends a row may hold the start of
// the next: the datapath keeps its sums, and that row's place in the output buffer is reserved with its next beat.

`default_nettype none

module fgnas_linear_sparse #(
  parameter int unsigned InputWidth = 1433,
  parameter int unsigned InLanes    = 4,
  parameter int unsigned OutLanes   = 4,
  parameter int unsigned Tiles      = 2,
  parameter int unsigned InBits     = 8,
  parameter int unsigned WeightBits = 8,
  parameter int unsigned SumBits    = 28,
  parameter int          Shift      = 8,
  parameter int unsigned OutBits    = 8,
  parameter int unsigned DspLanes   = 16
) (
  input  wire                               clk_i,
  input  wire                               rst_i,
  input  wire                               load_i,         // two words of W; by tile, then column
  /* verilator lint_off UNUSEDSIGNAL */  // fields narrower than the format's limits
  input  wire  fgnas_pkg::beat_t            load_data_i,
  input  wire                               beat_valid_i,
  input  wire  fgnas_pkg::beat_t            beat_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic                              beat_pop_o,
  input  wire                               free_i,
  output logic                              reserve_o,
  output logic                              write_o,
  output logic                              write_last_o,
  output logic [OutLanes-1:0][OutBits-1:0]  data_o,
  output logic                              row_issued_o,   // the row's last issue
  output logic                              column_error_o
);
  localparam int unsigned Words = InputWidth * Tiles;
  localparam int unsigned AddressBits = (Words > 1) ? $clog2(Words) : 1;
  localparam int unsigned TileBits = (Tiles > 1) ? $clog2(Tiles) : 1;
  localparam int unsigned Copies = (InLanes + 1) / 2;
  localparam int unsigned WordBits = OutLanes * WeightBits;

  fgnas_pkg::feature_tail_t tail;
  assign tail = beat_i[fgnas_pkg::FeatureTailAt+:fgnas_pkg::FeatureTailBits];

  // Issue: a tile of the front beat in every cycle in which the output buffer has room for the row.
  logic [TileBits-1:0] tile_q;
  logic [AddressBits-1:0] base_q;
  logic row_open_q, issue;
  logic tile_last_q;  // whether the tile is a beat's last: a register, because the beats behind it depend on it
  assign issue        = beat_valid_i && (row_open_q || free_i);
  assign beat_pop_o   = issue && tile_last_q;
  assign reserve_o    = issue && !row_open_q;
  assign row_issued_o = beat_pop_o && tail.last;

  logic first_beat_q;  // of the run: before it, no sum is valid
  always_ff @(posedge clk_i) begin
    if (issue) begin
      tile_q      <= tile_last_q ? '0 : tile_q + 1'b1;
      tile_last_q <= (Tiles == 1) || 32'(tile_q) == Tiles - 2;
      base_q      <= tile_last_q ? '0 : base_q + AddressBits'(InputWidth);
      row_open_q  <= !row_issued_o;
      if (tile_last_q) first_beat_q <= 1'b0;
    end
    if (rst_i) begin
      tile_q       <= '0;
      tile_last_q  <= Tiles == 1;
      base_q       <= '0;
      row_open_q   <= 1'b0;
      first_beat_q <= 1'b1;
    end
  end

  logic [InLanes-1:0][AddressBits-1:0] address_q;
  logic [InLanes-1:0][InBits-1:0] input_q, input_r_q;
  logic [InLanes-1:0] out_of_range;
  logic [1:0] valid_q, first_q, last_q, row_last_q;
  logic [1:0][fgnas_pkg::FeatureTailSplitBits-1:0] split_q;
  for (genvar i = 0; i < InLanes; i++) begin : gen_lane
    localparam int unsigned CountBits = fgnas_pkg::FeatureTailCountBits;
    localparam int unsigned ColumnBits = fgnas_pkg::FeatureColumnBits;
    /* verilator lint_off UNUSEDSIGNAL */  // an input may be narrower than its field
    fgnas_pkg::feature_t feature;
    /* verilator lint_on UNUSEDSIGNAL */
    logic used;
    assign feature         = beat_i[fgnas_pkg::FeatureBits*i+:fgnas_pkg::FeatureBits];
    assign used            = CountBits'(i) < tail.count;
    assign out_of_range[i] = used && (feature.column >= ColumnBits'(InputWidth));
    always_ff @(posedge clk_i) begin
      address_q[i] <= base_q + AddressBits'(feature.column);
      input_q[i]   <= used ? feature.value[InBits-1:0] : '0;
    end
  end
  always_ff @(posedge clk_i) begin
    input_r_q      <= input_q;
    column_error_o <= issue && |out_of_range;
    valid_q        <= rst_i ? '0 : {valid_q[0], issue};
    first_q        <= {first_q[0], first_beat_q};
    last_q         <= {last_q[0], tail.last};
    row_last_q     <= {row_last_q[0], tail.last && tile_last_q};
    split_q        <= {split_q[0], tail.split};
  end

  // Weights: loading borrows both ports of each copy. The spare word behind an odd number of words is not written.
  logic [AddressBits-1:0] load_address_q;
  always_ff @(posedge clk_i) begin
    if (load_i) load_address_q <= load_address_q + AddressBits'(2);
    if (rst_i) load_address_q <= '0;
  end
  logic [2*Copies-1:0][AddressBits-1:0] address;
  /* verilator lint_off UNUSEDSIGNAL */  // with an odd number of lanes, the last port is unused
  logic [2*Copies-1:0][OutLanes-1:0][WeightBits-1:0] weight;
  /* verilator lint_on UNUSEDSIGNAL */
  for (genvar i = 0; i < 2 * Copies; i++) begin : gen_address
    assign address[i] = load_i ? load_address_q + AddressBits'(i % 2) : address_q[(i < InLanes) ? i : i - 1];
  end
  for (genvar c = 0; c < Copies; c++) begin : gen_copy
    fgnas_dual_read_ram #(.Depth(Words), .Width(WordBits)) u_weights (
      .clk_i      (clk_i),
      .write_i    (load_i),
      .write_a_i  (load_data_i[0+:WordBits]),
      .write_b_i  (load_data_i[fgnas_pkg::MemoryWordBits+:WordBits]),
      .address_a_i(address[2*c]),
      .read_a_o   (weight[2*c]),
      .address_b_i(address[2*c+1]),
      .read_b_o   (weight[2*c+1])
    );
  end

  fgnas_linear_datapath #(
    .InLanes(InLanes), .OutLanes(OutLanes), .Tiles(Tiles), .InBits(InBits), .WeightBits(WeightBits),
    .SumBits(SumBits), .Shift(Shift), .OutBits(OutBits), .DspLanes(DspLanes), .Packed(1'b1)
  ) u_datapath (
    .clk_i       (clk_i),
    .rst_i       (rst_i),
    .valid_i     (valid_q[1]),
    .first_i     (first_q[1]),
    .last_i      (last_q[1]),
    .row_last_i  (row_last_q[1]),
    .split_i     (split_q[1]),
    .input_i     (input_r_q),
    .weight_i    (weight[InLanes-1:0]),
    .write_o     (write_o),
    .write_last_o(write_last_o),
    .data_o      (data_o)
  );
endmodule

`default_nettype wire
