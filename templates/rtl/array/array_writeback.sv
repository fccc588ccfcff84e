// Takes results out of the units' queues: to the tables of all units that hold their columns, one row's word a cycle or
// several; to the units' own rows, all at once; or to main memory, row by row across the groups. Partial sums are in
// their unit already: what leaves a queue only says that the row has ended.
//
// Several words go to the tables in a cycle where a row is one word in a unit that reads it and the groups come out
// even: then word r is of a group with number r modulo Results. Rows of the groups take turns in a table, so that the
// words of a cycle are in different banks.
//
// It also counts each group's rows between their issue and their end here, so that no queue overflows.

`default_nettype none

module array_writeback #(
  parameter int unsigned Units      = 8,
  parameter int unsigned Modes      = 2,
  parameter logic [Modes-1:0][$clog2(Units):0] M = '0,
  parameter logic [Modes-1:0][3:0] LogK = '0,
  parameter logic [Modes-1:0][3:0] LogN = '0,
  parameter int unsigned Bits       = 8,
  parameter int unsigned QueueWords = 32,
  parameter int unsigned Results    = 1,  // words that go to the tables in a cycle, at most as many as a table's banks
  parameter bit          Softmax    = 1'b0,  // attention with scores
  parameter bit          Partial    = 1'b0,  // sums that are not finished are kept
  localparam int unsigned WordBits  = array_pkg::Lanes * Bits
) (
  input  wire                                       clk_i,
  input  wire                                       rst_i,
  input  wire                                       start_i,
  /* verilator lint_off UNUSEDSIGNAL */  // most fields belong to other modules
  input  wire  array_pkg::descriptor_t              d_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire                                       issued_i,    // everything is issued
  input  wire  [Units-1:0]                          reserve_i,
  output logic                                      room_o,
  input  wire  [Units-1:0]                          ready_i,
  input  wire  [Units-1:0][array_pkg::ResultBits-1:0] head_i,
  output logic [Units-1:0]                          pop_o,
  output logic [Units-1:0][Results-1:0]             table_write_o,
  output logic [Results-1:0][array_pkg::AddressBits-1:0] table_address_o,
  output logic [Units-1:0][Results-1:0][WordBits-1:0] table_word_o,
  output logic                                      valid_o,
  output fgnas_pkg::beat_t                          beat_o,
  input  wire                                       ready_to_write_i,
  output logic                                      empty_o,
  output logic                                      broken_o
);
  import array_pkg::*;
  localparam int unsigned ModeIndexBits = (Modes > 1) ? $clog2(Modes) : 1;
  logic [ModeIndexBits-1:0] mode;
  assign mode = ModeIndexBits'(d_i.mode);
  localparam int unsigned CountWidth = $clog2(QueueWords) + 1;
  localparam int unsigned UnitBits = (Units > 1) ? $clog2(Units) : 1;

  logic to_table, to_own, to_logits;
  assign to_table  = d_i.target == 3'(TargetTable) && d_i.operation != 2'(OperationLoad);
  assign to_own    = d_i.target == 3'(TargetOwn) || (Partial && d_i.target == 3'(TargetPartial));
  assign to_logits = d_i.target == 3'(TargetLogits);

  // The first unit of each group stands for it.
  logic [Modes-1:0][Units-1:0] leads_of;
  logic [Units-1:0] leads;
  logic [3:0] log_n;
  for (genvar m = 0; m < Modes; m++) begin : gen_mode
    for (genvar u = 0; u < Units; u++) begin : gen_unit
      assign leads_of[m][u] = (u % (1 << (LogK[m] + LogN[m]))) == 0;
    end
  end
  assign leads = leads_of[mode];
  assign log_n = LogN[mode];

  // Who gives a word in this cycle. To the tables the groups of each share take turns.
  logic [Modes-1:0][Results-1:0][Units-1:0] share_of;
  logic [Results-1:0][Units-1:0] shared, later, turn, after_q;
  logic [Units-1:0] waiting, turns, next_q, grant;
  for (genvar m = 0; m < Modes; m++) begin : gen_shares
    localparam bit Even = 32'(M[m]) % Results == 0;
    for (genvar r = 0; r < Results; r++) begin : gen_share
      for (genvar u = 0; u < Units; u++) begin : gen_unit
        localparam bit Here = ((u >> (LogK[m] + LogN[m])) % Results) == r;
        assign share_of[m][r][u] = (Even && d_i.target_tiles == TileBits'(1)) ? Here : r == 0;
      end
    end
  end
  assign waiting = ready_i & leads;
  always_comb begin
    turns = '0;
    for (int unsigned r = 0; r < Results; r++) begin
      shared[r] = waiting & share_of[mode][r];
      later[r]  = shared[r] & after_q[r];
      turn[r]   = (later[r] != '0) ? later[r] & (~later[r] + 1'b1) : shared[r] & (~shared[r] + 1'b1);
      turns     = turns | turn[r];
    end
  end
  logic complete;  // every word of the next beat of logits
  assign complete = (waiting & next_q) == next_q;
  assign grant    = to_table ? turns : to_own ? waiting : (to_logits && ready_to_write_i && complete) ? next_q : '0;

  // A group's columns leave together; the others of its k units have no results.
  for (genvar u = 0; u < Units; u++) begin : gen_pop
    logic [Modes-1:0] of_mode;
    for (genvar m = 0; m < Modes; m++) begin : gen_pop_mode
      localparam int unsigned Places = 1 << (LogK[m] + LogN[m]);
      localparam bit Holds = (u % Places) < (1 << LogN[m]);
      assign of_mode[m] = Holds && grant[u-u%Places];
    end
    assign pop_o[u] = of_mode[mode];
  end

  // Rows between issue and end, and the place of the word that leaves next.
  logic [Units-1:0][CountWidth-1:0] count_q, count_d;
  logic [Units-1:0][TileBits-1:0] tile_q;
  logic [Units-1:0][AddressBits-1:0] row_q, group_base;
  logic [Units-1:0] tile_last, release_row, full_d, holds_q;
  logic [CountWidth-1:0] limit;
  always_comb begin
    limit = CountWidth'(QueueWords);
    for (int unsigned t = 1; t < (1 << TileBits); t++) begin
      if (d_i.tiles == TileBits'(t)) limit = CountWidth'(QueueWords >> $clog2(t));
    end
  end
  // From a row of a group to its next one: the rows of all m groups take turns.
  logic [Modes-1:0][AddressBits-1:0] row_step_of;
  logic [AddressBits-1:0] row_step;
  assign row_step = row_step_of[mode];
  always_comb begin
    row_step_of = '0;
    for (int unsigned m = 0; m < Modes; m++) begin
      for (int unsigned b = 0; b < TileBits; b++) begin
        if (d_i.target_tiles[b]) row_step_of[m] = row_step_of[m] + (AddressBits'(M[m]) << b);
      end
    end
  end
  for (genvar u = 0; u < Units; u++) begin : gen_group
    logic [Modes-1:0][AddressBits-1:0] base_of;
    for (genvar m = 0; m < Modes; m++) begin : gen_base_mode
      localparam int unsigned Group = u >> (LogK[m] + LogN[m]);
      always_comb begin
        base_of[m] = '0;
        for (int unsigned b = 0; b < TileBits; b++) begin
          if (d_i.target_tiles[b]) base_of[m] = base_of[m] + AddressBits'(Group << b);
        end
      end
    end
    assign group_base[u]  = base_of[mode];
    assign tile_last[u]   = tile_q[u] == d_i.tiles - 1'b1;
    assign release_row[u] = grant[u] && tile_last[u];
    assign count_d[u]     = count_q[u] + CountWidth'(reserve_i[u] && leads[u]) - CountWidth'(release_row[u]);
    assign full_d[u]      = count_d[u] >= limit;
  end
  // The groups whose words of logits leave next: as many neighbours as a beat holds words, where a row is one word and
  // the groups come out even; else one.
  logic [Modes-1:0][Units-1:0] begin_of, rotated;
  logic [Modes-1:0][Units-1:0][ResultBits-1:0] slotted_of[ResultsPerBeat];
  for (genvar m = 0; m < Modes; m++) begin : gen_order
    localparam int unsigned Places = 1 << (LogK[m] + LogN[m]);
    localparam bit Even = 32'(M[m]) % ResultsPerBeat == 0;
    localparam int unsigned Step = Even ? ResultsPerBeat * Places : Places;
    logic [Units-1:0] one_on, step_on;
    assign begin_of[m] = (Even && d_i.tiles == TileBits'(1)) ? together_from(Places) : Units'(1);
    if (Places == Units) begin : gen_alone
      assign one_on = next_q;
    end else begin : gen_many
      assign one_on = {next_q[Units-Places-1:0], next_q[Units-1:Units-Places]};
    end
    if (Step == Units) begin : gen_all
      assign step_on = next_q;
    end else begin : gen_part
      assign step_on = {next_q[Units-Step-1:0], next_q[Units-1:Units-Step]};
    end
    assign rotated[m] = (Even && d_i.tiles == TileBits'(1)) ? step_on : one_on;
    for (genvar u = 0; u < Units; u++) begin : gen_slot
      for (genvar r = 0; r < ResultsPerBeat; r++) begin : gen_result
        localparam bit Here = ((u / Places) % ResultsPerBeat) == r;
        assign slotted_of[r][m][u] = ((Even && d_i.tiles == TileBits'(1)) ? Here : r == 0) ? head_i[u] : '0;
      end
    end
  end
  function automatic logic [Units-1:0] together_from(input int unsigned places);
    together_from = '0;
    for (int unsigned u = 0; u < Units; u++) together_from[u] = u % places == 0 && u / places < ResultsPerBeat;
  endfunction

  always_ff @(posedge clk_i) begin
    room_o <= full_d == '0;
    for (int unsigned u = 0; u < Units; u++) begin
      count_q[u] <= count_d[u];
      holds_q[u] <= count_d[u] != '0;
      if (grant[u]) begin
        tile_q[u] <= tile_last[u] ? '0 : tile_q[u] + 1'b1;
        if (tile_last[u]) row_q[u] <= row_q[u] + row_step;
      end
    end
    for (int unsigned r = 0; r < Results; r++) begin
      if (to_table && shared[r] != '0) after_q[r] <= ~(turn[r] | (turn[r] - 1'b1));
    end
    if (|(grant & tile_last)) next_q <= rotated[mode];
    if (start_i) begin
      tile_q  <= '0;
      after_q <= '1;
      next_q  <= begin_of[mode];
      for (int unsigned u = 0; u < Units; u++) row_q[u] <= d_i.target_base + group_base[u];
    end
    if (rst_i) begin
      count_q <= '0;
      holds_q <= '0;
      room_o  <= 1'b1;
    end
  end

  // To the tables: the word of each column of the chosen groups, a cycle later in the units.
  logic [Results-1:0] bus_valid_q;
  logic [3:0] spread;  // tiles of the writing units that a reading unit holds one of, as a power of two
  assign spread = 4'(d_i.target_columns) - log_n;
  for (genvar r = 0; r < Results; r++) begin : gen_bus
    logic [Units-1:0][WordBits-1:0] bus_d, bus_q;
    logic [TileBits-1:0] bus_tile_d, bus_tile_q;
    logic [AddressBits-1:0] bus_row_d, bus_row_q;
    always_comb begin
      bus_d      = '0;
      bus_tile_d = '0;
      bus_row_d  = '0;
      for (int unsigned u = 0; u < Units; u++) begin
        if (turn[r][u]) begin
          bus_tile_d = bus_tile_d | tile_q[u];
          bus_row_d  = bus_row_d | row_q[u];
        end
        for (int unsigned c = 0; c < Units; c++) begin
          for (int unsigned l = 0; l < Lanes; l++) begin
            if (u + c < Units && turn[r][u]) begin
              bus_d[c][l*Bits+:Bits] = bus_d[c][l*Bits+:Bits] | head_i[u+c][l*fgnas_pkg::WordBits+:Bits];
            end
          end
        end
      end
    end
    always_ff @(posedge clk_i) begin
      bus_valid_q[r] <= to_table && shared[r] != '0 && !rst_i;
      bus_q          <= bus_d;
      bus_tile_q     <= bus_tile_d;
      bus_row_q      <= bus_row_d;
    end
    assign table_address_o[r] = bus_row_q + AddressBits'(bus_tile_q >> spread);
    for (genvar u = 0; u < Units; u++) begin : gen_table
      logic [UnitBits-1:0] place, column;  // of the reading unit: its columns, and those of the writing unit among them
      assign place               = UnitBits'(u) & UnitBits'((1 << d_i.target_columns) - 1);
      assign column              = place & UnitBits'((1 << log_n) - 1);
      assign table_word_o[u][r]  = bus_q[column];
      assign table_write_o[u][r] = bus_valid_q[r] &&
                                   (32'(bus_tile_q) & ((32'd1 << spread) - 1)) == 32'(place >> log_n);
    end
  end

  // To main memory: beats in order, until the region is full.
  logic [ResultBeatsBits-1:0] left_q;
  logic none_left_q;
  assign valid_o = to_logits && complete && !none_left_q;
  always_comb begin
    beat_o = '0;
    for (int unsigned r = 0; r < ResultsPerBeat; r++) begin
      for (int unsigned u = 0; u < Units; u++) begin
        if (next_q[u]) beat_o[r*ResultBits+:ResultBits] = beat_o[r*ResultBits+:ResultBits] | slotted_of[r][mode][u];
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (to_logits && |grant) begin
      left_q      <= left_q - 1'b1;
      none_left_q <= left_q == ResultBeatsBits'(1);
    end
    if (start_i) begin
      left_q      <= d_i.result_beats;
      none_left_q <= 1'b0;
    end
  end

  // A schedule that cannot go on: the row that must leave first is not even issued, and none is issued any more,
  // because a queue is full or the stream has ended; or rows are left behind the last beat of logits.
  logic stuck;
  assign stuck   = (!room_o || issued_i) && (holds_q & next_q) != next_q;
  assign empty_o = holds_q == '0 && bus_valid_q == '0;
  always_ff @(posedge clk_i) begin
    broken_o <= to_logits && !start_i && !rst_i &&
                (d_i.operation == 2'(OperationSparse) || (Softmax && d_i.operation == 2'(OperationAttend))) &&
                (none_left_q ? waiting != '0 : stuck);
  end
endmodule

`default_nettype wire
