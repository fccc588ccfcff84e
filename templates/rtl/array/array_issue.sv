// Issues slot rows to all units in lock step: entries of a stream, elements of the units' own rows, or words to load.
// A slot row takes a cycle for each tile. It is issued when its beats have arrived and every queue of results has room.

`default_nettype none

module array_issue #(
  parameter int unsigned Units    = 8,
  parameter int unsigned Modes    = 2,
  parameter logic [Modes-1:0][3:0] LogK = '0,
  parameter logic [Modes-1:0][3:0] LogN = '0,
  parameter int unsigned WordBits = 64,
  parameter int unsigned Together = 2,  // words of a beat of parameters
  parameter int unsigned Banks    = 1,  // of a table: words of a place that are loaded into it in a cycle
  parameter int unsigned Parts    = 2,  // beats of the longest slot row
  parameter bit          Softmax  = 1'b0,  // attention with scores
  parameter bit          Dot      = 1'b0,  // edges can have scores of their own
  parameter bit          Shared   = 1'b0,  // units share tables: an entry of the value 0 reads none
  parameter bit          Neighbours = 1'b0  // nearest points are found, and gathered
) (
  input  wire                                clk_i,
  input  wire                                rst_i,
  input  wire                                start_i,
  /* verilator lint_off UNUSEDSIGNAL */  // most fields belong to other modules
  input  wire  array_pkg::descriptor_t       d_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire                                beat_valid_i,
  /* verilator lint_off UNUSEDSIGNAL */
  input  wire  fgnas_pkg::beat_t             beat_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic                               pop_o,
  input  wire                                room_i,
  output logic                               hungry_o,
  output logic                               finished_o,
  output logic                               index_error_o,
  output logic [Units-1:0]                   reserve_o,    // the unit's row is issued whole in this cycle
  // Registered: one tile of an entry for every unit.
  output logic                               valid_o,
  output logic [Units-1:0]                   first_o,
  output logic [Units-1:0]                   last_o,
  output logic [array_pkg::TileBits-1:0]     tile_o,
  output logic [Units-1:0][array_pkg::AddressBits-1:0] address_o,
  output logic [Units-1:0][array_pkg::ValueBits-1:0]   value_o,
  output logic [array_pkg::AddressBits-1:0]  own_address_o,
  output logic [$clog2(array_pkg::Lanes)-1:0] lane_o,       // of an own word, or of a word of scores
  output logic                               score_o,      // the word is one of scores, which no value meets
  output logic                               own_o,        // the entry of a gather is the row's own
  output logic [Units-1:0]                   ends_o,       // scores of edges: the row's last entry has met its query
  // Registered: words for every unit that loads some, from an address on.
  output logic [Units-1:0]                   load_o,
  output logic [array_pkg::AddressBits-1:0]  load_address_o,
  output logic [$clog2(Banks):0]             load_count_o,
  output logic [Units-1:0][Banks-1:0][WordBits-1:0] load_word_o
);
  import array_pkg::*;
  localparam int unsigned ModeIndexBits = (Modes > 1) ? $clog2(Modes) : 1;
  logic [ModeIndexBits-1:0] mode;
  assign mode = ModeIndexBits'(d_i.mode);
  localparam int unsigned LaneBits = $clog2(Lanes);
  localparam int unsigned PartBits = (Parts > 1) ? $clog2(Parts) : 1;
  localparam int unsigned SlotBits = $clog2(EntriesPerBeat);
  localparam int unsigned LoadBits = (Together > 1) ? $clog2(Together) : 1;
  localparam int unsigned BankBits = $clog2(Banks) + 1;
  localparam int unsigned StepBits = ($clog2(Units) > 8) ? $clog2(Units) : 8;  // of a step of a group's loads

  logic active_q, loads, sparse, dense, attends, dots, of_edges, scores, messages, gathers, samples;
  logic [CountBits-1:0] left_q;      // words of a place, slot rows, or rows
  logic [TileBits-1:0] tile_q;
  logic [PartBits-1:0] part_q;
  logic [SlotBits-1:0] slot_q;       // slot row in the beat
  assign loads      = d_i.operation == 2'(OperationLoad);
  assign attends    = Softmax && d_i.operation == 2'(OperationAttend);
  assign dots       = Dot && attends && d_i.dot != '0;
  assign of_edges   = dots && d_i.attention == 2'(AttentionScores);
  assign scores     = attends && d_i.attention == 2'(AttentionScores) && !of_edges;
  assign messages   = attends && d_i.attention == 2'(AttentionMessages);
  assign gathers    = Neighbours && d_i.operation == 2'(OperationSparse) && d_i.region == 2'(RegionNeighbours);
  assign samples    = Neighbours && d_i.operation == 2'(OperationDense) && d_i.sample != '0;
  assign sparse     = (d_i.operation == 2'(OperationSparse) && !gathers) || (attends && !scores);
  assign dense      = d_i.operation == 2'(OperationDense) || scores || gathers;
  assign finished_o = !active_q;
  assign hungry_o   = active_q && !dense;

  // Facts of the mode.
  logic [PartBits-1:0] last_part;
  logic [SlotBits-1:0] last_slot;
  logic [StepBits-1:0] last_group;   // places of a group of units are loaded `Together` at a time
  logic [LoadBits-1:0] last_step;    // or, where they are fewer, a beat holds several words of each,
  logic [$clog2(Banks):0] per_step;  // of which so many are loaded in a step
  logic to_table;
  assign to_table = d_i.target == 3'(TargetTable);
  always_comb begin
    last_part  = '0;
    last_slot  = '0;
    last_group = '0;
    last_step  = '0;
    per_step   = BankBits'(1);
    for (int unsigned m = 0; m < Modes; m++) begin
      automatic int unsigned takers = Units >> LogN[m];
      automatic int unsigned places = 1 << (LogK[m] + LogN[m]);
      if (d_i.mode == ModeBits'(m)) begin
        last_part  = PartBits'((takers + EntriesPerBeat - 1) / EntriesPerBeat - 1);
        last_slot  = (takers < EntriesPerBeat) ? SlotBits'(EntriesPerBeat / takers - 1) : '0;
        last_group = (places > Together) ? StepBits'(places / Together - 1) : '0;
        if (places < Together) begin
          per_step  = !to_table ? BankBits'(1) : BankBits'(Together / places < Banks ? Together / places : Banks);
          last_step = LoadBits'(Together / places / 32'(per_step) - 1);
        end
      end
    end
  end

  logic tile_last, go, collect, slot_done;
  logic [TileBits-1:0] met;          // words that an entry meets
  assign met       = of_edges ? TileBits'(d_i.entries) : d_i.tiles;
  assign tile_last = tile_q == met - 1'b1 + TileBits'(messages);
  assign go        = active_q && (dense || (sparse && beat_valid_i && part_q == last_part)) &&
                     (tile_q != '0 || room_i);
  assign collect   = active_q && sparse && beat_valid_i && part_q != last_part;
  assign slot_done = go && tile_last;

  // Loads: a step writes a word into one or more places.
  logic load, load_pop, word_done;
  logic [StepBits-1:0] group_q;
  logic [LoadBits-1:0] step_of_beat_q;
  logic [BankBits-1:0] step_words;   // of a place, in this step
  logic load_ends;
  logic [AddressBits-1:0] load_address_q;
  assign load       = active_q && loads && beat_valid_i;
  assign word_done  = load && group_q == last_group;
  assign load_ends  = left_q <= CountBits'(per_step);
  assign step_words = load_ends ? BankBits'(left_q) : per_step;
  assign load_pop   = load && (step_of_beat_q == last_step || load_ends);

  assign pop_o = collect || load_pop || (sparse && slot_done && (slot_q == last_slot || left_q == CountBits'(1)));

  // Dense: the own words of a row are read lane by lane, the words of the table in order.
  logic [EntriesBits-1:0] element_q;
  logic [LaneBits-1:0] lane_q;
  logic [AddressBits-1:0] own_q, step_q;
  logic row_last, own_entry;
  assign row_last  = element_q == d_i.entries - 1'b1;
  assign own_entry = gathers && row_last && d_i.beats != '0;  // behind the neighbours, with a value of its own

  // An own word that all units read; where edges have scores, a word of the query of each unit's row.
  logic [AddressBits-1:0] own_place;
  if (Dot) begin : gen_query_place
    assign own_place = of_edges ? AddressBits'(tile_q) : own_q;
  end else begin : gen_own_place
    assign own_place = samples ? own_q + AddressBits'(tile_q) : own_q;
  end

  // Scores: the groups' rows take turns in the tables; each meets the vectors of the sources, then of the targets.
  /* verilator lint_off UNUSEDSIGNAL */  // an engine without attention has none
  logic [TileBits-1:0] word_q, part_of_head_q;
  logic [LaneBits-2:0] head_q;
  logic side_q, word_last, head_step;
  logic [AddressBits-1:0] row_q, row_step;
  logic [Units-1:0][AddressBits-1:0] group_base;
  /* verilator lint_on UNUSEDSIGNAL */
  if (Softmax) begin : gen_scores
    logic [Modes-1:0][AddressBits-1:0] step_of;
    always_comb begin
      step_of = '0;
      for (int unsigned m = 0; m < Modes; m++) begin
        for (int unsigned b = 0; b < TileBits; b++) begin
          if (d_i.target_tiles[b]) step_of[m] = step_of[m] + (AddressBits'(Units >> (LogK[m] + LogN[m])) << b);
        end
      end
    end
    assign row_step = step_of[mode];
    for (genvar u = 0; u < Units; u++) begin : gen_base
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
      assign group_base[u] = d_i.table_base + base_of[mode];
    end
    // The head of a word: heads have as many words each.
    assign word_last = scores ? EntriesBits'(word_q) == (d_i.entries >> 1) - 1'b1 : tile_last;
    assign head_step = go && (scores || of_edges || (messages && tile_q != '0));
    always_ff @(posedge clk_i) begin
      if (head_step) begin
        word_q         <= word_last ? '0 : word_q + 1'b1;
        part_of_head_q <= (word_last || part_of_head_q == d_i.head_tiles - 1'b1) ? '0 : part_of_head_q + 1'b1;
        if (word_last) head_q <= '0;
        else if (part_of_head_q == d_i.head_tiles - 1'b1) head_q <= head_q + 1'b1;
        if (word_last && scores) side_q <= !side_q;
      end
      if (slot_done && scores && row_last) row_q <= row_q + row_step;
      if (start_i) begin
        word_q         <= '0;
        part_of_head_q <= '0;
        head_q         <= '0;
        side_q         <= 1'b0;
        row_q          <= '0;
      end
    end
    always_ff @(posedge clk_i) score_o <= go && messages && tile_q == '0 && !rst_i;
  end else begin : gen_no_scores
    assign {word_q, part_of_head_q, head_q, side_q, word_last, head_step, row_q, row_step} = '0;
    assign group_base = '0;
    assign score_o    = 1'b0;
  end

  // The parts of a long slot row that came before the beat in front.
  /* verilator lint_off UNUSEDSIGNAL */  // the last part is never stored; a beat may have spare bits
  fgnas_pkg::beat_t stored_q[Parts];
  /* verilator lint_on UNUSEDSIGNAL */
  always_ff @(posedge clk_i) if (collect) stored_q[part_q] <= beat_i;

  entry_t [Units-1:0] entry;
  for (genvar u = 0; u < Units; u++) begin : gen_unit
    entry_t [Modes-1:0] of_mode;
    logic [Modes-1:0][Banks-1:0][WordBits-1:0] load_word;
    logic [Modes-1:0] loaded;
    for (genvar m = 0; m < Modes; m++) begin : gen_mode
      localparam int unsigned Takers = Units >> LogN[m];
      localparam int unsigned Taker = u >> LogN[m];
      localparam int unsigned Own = (Takers + EntriesPerBeat - 1) / EntriesPerBeat;
      if (Own > 1) begin : gen_long
        localparam int unsigned Part = Taker / EntriesPerBeat;
        localparam int unsigned Place = Taker % EntriesPerBeat;
        assign of_mode[m] = (Part == Own - 1) ? beat_i[Place*EntryBits+:EntryBits]
                                              : stored_q[Part][Place*EntryBits+:EntryBits];
      end else begin : gen_short
        localparam int unsigned Slots = EntriesPerBeat / Takers;
        always_comb begin
          of_mode[m] = '0;
          for (int unsigned s = 0; s < Slots; s++) begin
            if (slot_q == SlotBits'(s)) of_mode[m] = beat_i[(s*Takers+Taker)*EntryBits+:EntryBits];
          end
        end
      end
      localparam int unsigned Places = 1 << (LogK[m] + LogN[m]);
      localparam int unsigned LoadPlace = u % Places;
      localparam int unsigned Stride = fgnas_pkg::BeatBits / Together;
      if (Places >= Together) begin : gen_wide
        assign loaded[m]    = group_q == StepBits'(LoadPlace / Together);
        assign load_word[m] = (Banks * WordBits)'(beat_i[(LoadPlace%Together)*Stride+:WordBits]);
      end else begin : gen_narrow
        assign loaded[m]    = 1'b1;
        always_comb begin
          load_word[m] = '0;
          for (int unsigned s = 0; s < Together / Places; s++) begin
            for (int unsigned b = 0; b < Banks; b++) begin
              if (32'(step_of_beat_q) * 32'(per_step) + b == s) begin
                load_word[m][b] = beat_i[(s*Places+LoadPlace)*Stride+:WordBits];
              end
            end
          end
        end
      end
    end
    always_comb entry[u] = of_mode[mode];
    always_ff @(posedge clk_i) begin
      load_o[u]      <= load && loaded[mode] && !rst_i;
      load_word_o[u] <= load_word[mode];
    end
  end

  logic [Units-1:0] last, fresh_q, wrong, absent;
  logic signed [LimitBits:0] largest;  // index that an entry may have: it names as many words as there are tiles
  assign largest = signed'({1'b0, d_i.limit}) - (LimitBits + 1)'(met) - (LimitBits + 1)'(messages);
  always_comb begin
    for (int unsigned u = 0; u < Units; u++) begin
      last[u]      = dense ? row_last : entry[u].last;
      wrong[u]     = signed'((LimitBits + 1)'(entry[u].index)) > largest;
      absent[u]    = Shared && sparse && entry[u].value == '0;
      reserve_o[u] = slot_done && (last[u] || of_edges) && !samples;
    end
  end

  always_ff @(posedge clk_i) begin
    valid_o        <= go && !(messages && tile_q == '0) && !rst_i;
    tile_o         <= of_edges ? '0 : tile_q - TileBits'(messages);
    own_address_o  <= own_place;
    lane_o         <= attends ? {side_q, head_q} : lane_q;
    load_address_o <= load_address_q;
    load_count_o   <= step_words;
    index_error_o  <= go && sparse && |wrong;
    first_o        <= of_edges ? {Units{tile_q == '0}} : fresh_q;
    last_o         <= of_edges ? {Units{tile_last}} : last;
    ends_o         <= (of_edges && slot_done) ? last : '0;
    own_o          <= own_entry;
    for (int unsigned u = 0; u < Units; u++) begin
      address_o[u] <= scores ? group_base[u] + row_q + AddressBits'(word_q)
                    : dense  ? d_i.table_base + step_q
                             : d_i.table_base + AddressBits'(entry[u].index) + AddressBits'(tile_q);
      value_o[u]   <= own_entry ? ValueBits'(d_i.beats) : gathers ? ValueBits'(d_i.offset) : entry[u].value;
    end

    if (go) tile_q <= tile_last ? '0 : tile_q + 1'b1;
    if (collect) part_q <= part_q + 1'b1;
    if (slot_done) begin
      fresh_q <= last | (fresh_q & absent);  // a row begins with the first entry that is there
      part_q  <= '0;
      slot_q  <= (slot_q == last_slot) ? '0 : slot_q + 1'b1;
    end
    if (load) begin
      step_of_beat_q <= (step_of_beat_q == last_step) ? '0 : step_of_beat_q + 1'b1;
      group_q        <= (group_q == last_group) ? '0 : group_q + 1'b1;
    end
    if (word_done) load_address_q <= load_address_q + AddressBits'(per_step);

    // Dense counters.
    if (go && dense) step_q <= (row_last && tile_last) ? '0 : step_q + 1'b1;
    if (slot_done && dense) begin
      element_q <= row_last ? '0 : element_q + 1'b1;
      lane_q    <= row_last ? '0 : lane_q + 1'b1;
      if (scores) own_q <= row_last ? d_i.own_base : own_q + 1'b1;
      else if (samples) own_q <= row_last ? own_q + AddressBits'(d_i.tiles) : own_q;
      else if (row_last || &lane_q) own_q <= own_q + 1'b1;
    end
    if (slot_done && dots) own_q <= own_q + 1'b1;  // scores of edges are own words, one for each slot row

    if ((slot_done && (sparse || row_last)) || word_done) begin
      left_q <= left_q - (loads ? CountBits'(step_words) : CountBits'(1));
      if (loads ? load_ends : left_q == CountBits'(1)) active_q <= 1'b0;
    end

    if (start_i) begin
      active_q       <= 1'b1;
      left_q         <= d_i.count;
      tile_q         <= '0;
      part_q         <= '0;
      slot_q         <= '0;
      fresh_q        <= '1;
      step_of_beat_q <= '0;
      group_q        <= '0;
      load_address_q <= d_i.target_base;
      element_q      <= '0;
      lane_q         <= '0;
      own_q          <= d_i.own_base;
      step_q         <= '0;
    end
    if (rst_i) active_q <= 1'b0;
  end
endmodule

`default_nettype wire
