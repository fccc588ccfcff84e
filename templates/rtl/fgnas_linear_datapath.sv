// t_in x t_out multipliers, adders for each output lane, an accumulator per tile, and the requantiser.
// A tile of a row takes one cycle for each group of t_in inputs. Groups are the outer loop, tiles the inner one.
//
// If Packed, a row's last group also holds the start of the next row, after its split. Prefix sums over the lanes end
// in the sum of all: the prefix before the split belongs to this row, and the rest is kept for the next.

`default_nettype none

module fgnas_linear_datapath #(
  parameter int unsigned InLanes    = 4,
  parameter int unsigned OutLanes   = 4,
  parameter int unsigned Tiles      = 2,
  parameter int unsigned InBits     = 8,
  parameter int unsigned WeightBits = 8,
  parameter int unsigned SumBits    = 28,  // neither rounds nor overflows
  parameter int          Shift      = 8,   // from the sum's fraction bits to H's
  parameter int unsigned OutBits    = 8,
  parameter int unsigned DspLanes   = 16,  // multipliers in DSP slices, lane 0 first
  parameter bit          Packed     = 1'b0 // whether split_i is used
) (
  input  wire                                             clk_i,
  input  wire                                             rst_i,
  input  wire                                             valid_i,
  input  wire                                             first_i,     // discard the sums so far
  input  wire                                             last_i,      // last group of the row
  input  wire                                             row_last_i,  // ... and last tile
  /* verilator lint_off UNUSEDSIGNAL */
  input  wire  [fgnas_pkg::FeatureTailSplitBits-1:0]      split_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire  [InLanes-1:0][InBits-1:0]                  input_i,
  input  wire  [InLanes-1:0][OutLanes-1:0][WeightBits-1:0] weight_i,
  output logic                                            write_o,
  output logic                                            write_last_o,
  output logic [OutLanes-1:0][OutBits-1:0]                data_o
);
  localparam int unsigned ProductBits = InBits + WeightBits;
  localparam int unsigned GroupBits = ProductBits + $clog2(InLanes);  // width of the sum of a group
  localparam int unsigned TileBits = (Tiles > 1) ? $clog2(Tiles) : 1;

  // Operands are registered twice behind the memories, because a block RAM answers late and is far from some of its
  // multipliers; then they are multiplied and summed in two steps: five cycles.
  logic [1:0][InLanes-1:0][InBits-1:0] input_q;
  logic [1:0][InLanes-1:0][OutLanes-1:0][WeightBits-1:0] weight_q;
  logic [InLanes-1:0][OutLanes-1:0][ProductBits-1:0] product;
  logic [4:0] valid_q, first_q, last_q, row_last_q;

  always_ff @(posedge clk_i) begin
    input_q    <= {input_q[0], input_i};
    weight_q   <= {weight_q[0], weight_i};
    valid_q    <= rst_i ? '0 : {valid_q[3:0], valid_i};
    first_q    <= {first_q[3:0], first_i};
    last_q     <= {last_q[3:0], last_i};
    row_last_q <= {row_last_q[3:0], row_last_i};
  end

  for (genvar i = 0; i < InLanes; i++) begin : gen_in
    for (genvar o = 0; o < OutLanes; o++) begin : gen_out
      fgnas_multiplier #(
        .LeftBits (InBits),
        .RightBits(WeightBits),
        .UseDsp   (i * OutLanes + o < DspLanes)
      ) u_multiplier (
        .clk_i    (clk_i),
        .left_i   (input_q[1][i]),
        .right_i  (weight_q[1][i][o]),
        .product_o(product[i][o])
      );
    end
  end

  // Each lane's product; every second lane adds the one before it.
  /* verilator lint_off UNUSEDSIGNAL */  // without a split, what a pair has taken is not used again
  logic [OutLanes-1:0][InLanes-1:0][GroupBits-1:0] pair_q;
  /* verilator lint_on UNUSEDSIGNAL */
  always_ff @(posedge clk_i) begin
    for (int unsigned o = 0; o < OutLanes; o++) begin
      for (int unsigned i = 0; i < InLanes; i++) begin
        pair_q[o][i] <= GroupBits'(signed'(product[i][o])) +
                        ((i % 2 == 1) ? GroupBits'(signed'(product[i-i%2][o])) : '0);
      end
    end
  end

  // `sum` is the row's share of the group, `kept` the content of the sums after it.
  logic [OutLanes-1:0][SumBits-1:0] sum, kept_d, total_d, total_q, stored;
  if (Packed) begin : gen_packed
    localparam int unsigned SplitBits = $clog2(InLanes + 1);
    logic [4:0][SplitBits-1:0] split_q;
    logic [OutLanes-1:0][InLanes:0][GroupBits-1:0] prefix_d, prefix_q;
    always_comb begin
      for (int unsigned o = 0; o < OutLanes; o++) begin
        prefix_d[o][0] = '0;
        for (int unsigned i = 0; i < InLanes; i++) prefix_d[o][i+1] = pair_q[o][i];
        // Each round doubles the block: the upper half of a block adds the sum of its lower half.
        for (int unsigned half = 2; half < InLanes; half *= 2) begin
          for (int unsigned i = half; i < InLanes; i++) begin
            if ((i & half) != 0) prefix_d[o][i+1] = prefix_d[o][i+1] + prefix_d[o][i&~(half-1)];
          end
        end
      end
    end
    always_ff @(posedge clk_i) begin
      split_q  <= {split_q[3:0], SplitBits'(split_i)};
      prefix_q <= prefix_d;
    end
    always_comb begin
      for (int unsigned o = 0; o < OutLanes; o++) begin
        sum[o]    = SumBits'(signed'(prefix_q[o][split_q[4]]));
        kept_d[o] = last_q[4] ? SumBits'(signed'(prefix_q[o][InLanes])) - sum[o] : total_d[o];
      end
    end
  end else begin : gen_whole
    logic [OutLanes-1:0][SumBits-1:0] sum_d;
    always_comb begin
      for (int unsigned o = 0; o < OutLanes; o++) begin
        sum_d[o] = '0;
        for (int unsigned i = 0; i < InLanes; i++) begin
          if (i % 2 == 1 || i == InLanes - 1) sum_d[o] = sum_d[o] + SumBits'(signed'(pair_q[o][i]));
        end
      end
    end
    always_ff @(posedge clk_i) sum <= sum_d;
    assign kept_d = total_d;
  end

  // Accumulate: a tile's sum is read, updated and written back within a cycle.
  logic [TileBits-1:0] tile_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[4]) tile_q <= (tile_q == TileBits'(Tiles - 1)) ? '0 : tile_q + 1'b1;
    if (rst_i) tile_q <= '0;
  end
  if (Tiles == 1) begin : gen_register
    logic [OutLanes-1:0][SumBits-1:0] sums_q;
    assign stored = sums_q;
    always_ff @(posedge clk_i) if (valid_q[4]) sums_q <= kept_d;
  end else begin : gen_memory
    (* ram_style = "distributed" *) logic [OutLanes*SumBits-1:0] sums[Tiles];
    assign stored = sums[tile_q];
    always_ff @(posedge clk_i) if (valid_q[4]) sums[tile_q] <= kept_d;
  end
  always_comb begin
    for (int unsigned o = 0; o < OutLanes; o++) total_d[o] = sum[o] + (first_q[4] ? '0 : stored[o]);
  end

  // Requantise, once.
  logic done_q, row_done_q;
  logic [OutLanes-1:0][OutBits-1:0] data_d;
  for (genvar o = 0; o < OutLanes; o++) begin : gen_requantise
    fgnas_requantise #(.InBits(SumBits), .Shift(Shift), .OutBits(OutBits)) u_requantise (
      .value_i(total_q[o]),
      .value_o(data_d[o])
    );
  end
  always_ff @(posedge clk_i) begin
    total_q      <= total_d;
    done_q       <= valid_q[4] && last_q[4] && !rst_i;
    row_done_q   <= valid_q[4] && row_last_q[4] && !rst_i;
    data_o       <= data_d;
    write_o      <= done_q && !rst_i;
    write_last_o <= row_done_q && !rst_i;
  end
endmodule

`default_nettype wire
