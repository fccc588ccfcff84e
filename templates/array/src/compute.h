// All units in lock step: an iteration is a cycle. It issues a tile of a slot row where every queue has room, lets the
// rows that end in it into the queues, and takes results out of them.
//
// What leaves is known late in an iteration, and whether there is room early: a row that left makes room RETURN_DELAY
// iterations later, which a queue of rows covers, so that an iteration can begin in each cycle.
#pragma once

#include "finish.h"
#include "queues.h"
#include "sums.h"

constexpr int RETURN_DELAY = 16;

/// What the issue decides with: slot rows that are left, and rows of each group that may still be in a queue.
struct Front {
    Slot slot;  ///< the one in front
    bool more;  ///< else there is none
    Rounds<TILES_BITS> tile;
    Levels<QUEUE_WORDS> rows;
    bool full;   ///< a group has as many rows as its queue holds
    bool drops;  ///< the schedule is broken: what is left is read and dropped

    /// `tiles` are those of an entry.
    Front(const Slot& first, const Tile& tiles) : slot(first), more(true), tile(tiles), full(false), drops(false) {}
    bool going() const {
        HLS_INLINE
        return more || (rows.some != 0 && !drops);
    }
    bool goes() const {
        HLS_INLINE
        return more && (!tile.first || !full || drops);
    }
    /// A tile was issued, or not; `left` are the groups of which a row has left.
    void next(bool issued, const UnitMask& begun, const UnitMask& left, int limit, Stream<Slot>& slots) {
        HLS_INLINE
        rows.next(begun, left);
        full = rows.full(limit) != 0;
        if (issued && tile.last) {
            if (slot.ends) more = false;
            else slot = unpack<Slot>(slots.read());
        }
        tile.next(issued);
    }
};

/// What the results need to leave.
struct Back {
    Levels<QUEUE_WORDS> words, rows;  ///< words in a queue; rows of a group between their issue and their end
    UnitMask turn[RESULTS], after[RESULTS];  ///< to the tables: who may give each word, and who comes next
    UnitMask following;                      ///< logits: who is next
    Tile tile[UNITS];    ///< of the next word
    Place row[UNITS];    ///< to the tables or the own rows: where its row begins
    Rounds<TILES_BITS> leaving_tile;  ///< logits: of the rows that leave
    Countdown<RESULT_BEATS_BITS> beats;
    bool broken;

    explicit Back(const Descriptor& d)
        : following(0), leaving_tile(d.tiles), beats(d.result_beats), broken(false) {
        HLS_INLINE
        for (int word = 0; word < RESULTS; ++word) {
            HLS_UNROLL
            turn[word] = after[word] = 0;
        }
        for (int unit = 0; unit < UNITS; ++unit) {
            HLS_UNROLL
            const int group = unit >> (mode_of(d).log_k + mode_of(d).log_n);
            tile[unit] = 0;
            row[unit] = d.target_base + (d.target == TARGET_OWN ? 0 : group * d.target_tiles.to_int());
        }
    }
};

/// Groups whose words of logits leave in one beat: neighbours, where a row is one word and the groups come out even.
inline int together(const Descriptor& d) {
    HLS_INLINE
    return d.tiles == 1 && mode_of(d).m % RESULTS_PER_BEAT == 0 ? RESULTS_PER_BEAT : 1;
}

/// The groups whose words of logits leave first.
inline UnitMask first_groups(const Descriptor& d, const Groups& groups) {
    HLS_INLINE
    UnitMask found = 0;
    for (int unit = 0; unit < UNITS; ++unit) {
        HLS_UNROLL
        found[unit] = bool(groups.leads[unit]) && unit < groups.places * together(d);
    }
    return found;
}

/// Whether every word of the next beat of logits is there.
inline bool complete(const Descriptor& d, const Back& back) {
    HLS_INLINE
    return d.target == TARGET_LOGITS && (back.following & ~back.words.some) == 0 && back.beats.more && !back.broken;
}

/// The groups that give a word in this cycle.
inline UnitMask granted(const Descriptor& d, const Back& back) {
    HLS_INLINE
    const UnitMask waiting = back.words.some, none = 0, all = ~none;
    UnitMask to_logits = none;
    if (complete(d, back)) to_logits = back.following;
    UnitMask turns = none;
    for (int word = 0; word < RESULTS; ++word) {
        HLS_UNROLL
        turns |= back.turn[word];
    }
    // One of the three, which the descriptor selects.
    const bool stays = d.target == TARGET_OWN || d.target == TARGET_PARTIAL;
    const UnitMask to_table = d.target == TARGET_TABLE ? turns : none, in_units = stays ? all : none;
    return (waiting & (to_table | in_units)) | to_logits;
}

/// Whether rows and beats of logits can no longer come out even, or no row can leave that another waits for.
inline bool breaks(const Descriptor& d, const Front& front, const Back& back, int limit) {
    HLS_INLINE
    const bool full = back.rows.full(limit) != 0 || !front.more;
    const bool missing = (back.following & ~back.rows.some) != 0;
    return d.target == TARGET_LOGITS && (back.beats.more ? full && missing : back.words.some != 0);
}

/// Results as the numbers of a memory.
inline NumberWord numbers_of(const ResultWord& results) {
    HLS_INLINE
    NumberWord numbers;
    for (int lane = 0; lane < LANES; ++lane) {
        HLS_UNROLL
        numbers.lane[lane] = Number(results.lane[lane]);
    }
    return numbers;
}

/// Zeros in the place of the beats of logits that do not come.
inline void fill(unsigned beats, Stream<Beat>& logits) {
    for (unsigned beat = 0; beat < beats; ++beat) {
        HLS_PIPELINE
        HLS_TRIPS(LOGITS_DEPTH)
        logits.write(0);
    }
}

/// The words of groups go to the tables of all units that hold their columns. Returns whether one has no such word.
inline bool write_tables(const Descriptor& d, const Groups& groups, const UnitMask& leaving, const Back& back,
                         const Packed<ResultWord> head[UNITS], TableMemory table) {
    HLS_INLINE
    // A unit that reads holds one of so many tiles of those that write.
    const int spread = d.target_columns.to_int() - groups.log_n;
    Packed<ResultWord> bus[RESULTS][WIDEST];
    Place address[RESULTS];
    Tile tile[RESULTS];
    bool there[RESULTS], over = false;
    HLS_REGISTERS(bus)
    HLS_REGISTERS(address)
    HLS_REGISTERS(tile)
    HLS_REGISTERS(there)
    for (int word = 0; word < RESULTS; ++word) {
        HLS_UNROLL
        const UnitMask turn = leaving & back.turn[word];
        for (int column = 0; column < WIDEST; ++column) {
            HLS_UNROLL
            bus[word][column] = 0;
            for (int unit = 0; unit < UNITS; ++unit) {
                HLS_UNROLL
                if (unit + column < UNITS && turn[unit]) bus[word][column] |= head[unit + column];
            }
        }
        Place row = 0;
        tile[word] = 0;
        for (int unit = 0; unit < UNITS; ++unit) {
            HLS_UNROLL
            if (turn[unit]) {
                row |= back.row[unit];
                tile[word] |= back.tile[unit];
            }
        }
        address[word] = row + (tile[word] >> spread);
        there[word] = turn != 0;
        over = over || (there[word] && address[word] >= TABLE_WORDS);
    }
    for (int written = 0; written < TABLES; ++written) {
        HLS_UNROLL
        const int unit = first_reader(written);
        const int place = unit & ((1 << d.target_columns.to_int()) - 1), column = place & ((1 << groups.log_n) - 1);
        for (int bank = 0; bank < TABLE_BANKS; ++bank) {
            HLS_UNROLL
            // The words of a cycle are for different banks.
            bool here = false;
            Address at = 0;
            Packed<ResultWord> results = 0;
            for (int word = 0; word < RESULTS; ++word) {
                HLS_UNROLL
                const bool holds = (tile[word] & ((1 << spread) - 1)) == place >> groups.log_n;
                if (there[word] && holds && address[word] % TABLE_BANKS == bank) {
                    here = true;
                    at = address[word] / TABLE_BANKS;
                    results = bus[word][column];
                }
            }
            if (here && !over) table[written * TABLE_BANKS + bank][at] = pack(numbers_of(unpack<ResultWord>(results)));
        }
    }
    return over;
}

/// The words of logits that leave together.
inline Beat logit_beat(const Descriptor& d, const UnitMask& leaving,
                       const Packed<ResultWord> head[UNITS]) {
    HLS_INLINE
    Beat beat = 0;
    for (int unit = 0; unit < UNITS; ++unit) {
        HLS_UNROLL
        int slot = 0;
        for (int mode = 0; mode < MODES; ++mode) {
            HLS_UNROLL
            if (d.mode == mode && together(d) > 1) slot = unit / MODE[mode].places() % RESULTS_PER_BEAT;
        }
        for (int one = 0; one < RESULTS_PER_BEAT; ++one) {
            HLS_UNROLL
            if (leaving[unit] && slot == one) beat |= Beat(head[unit]) << (RESULT_BITS * one);
        }
    }
    return beat;
}

/// Who gives the next word to the tables, and who gives the next one of logits.
inline void take_turns(const Descriptor& d, const Groups& groups, bool leaves, Back& back) {
    HLS_INLINE
    for (int word = 0; word < RESULTS; ++word) {
        HLS_UNROLL
        const UnitMask waiting = back.words.some & groups.shares[word], later = waiting & back.after[word];
        const UnitMask until = later != 0 ? up_to_lowest(later) : up_to_lowest(waiting);
        back.turn[word] = waiting & (later != 0 ? UnitMask(later & until) : until);
        if (waiting != 0) back.after[word] = ~until;
    }
    if (leaves && back.leaving_tile.last) back.following = turned(back.following, groups.places * together(d));
    back.leaving_tile.next(leaves);
    back.beats.next(leaves);
}

/// A sparse or dense descriptor, from its first slot row to its last result. Returns what was wrong.
inline Status compute(const Descriptor& d, TableMemory table, OwnMemory own, PartialMemory partial,
                      const BiasMemory bias, const ActivationMemory activation, Stream<Slot>& slots, Stream<Entry> entries[UNITS],
                      Stream<Beat>& logits) {
    // No descriptor reads words that it writes.
    HLS_INDEPENDENT(table)
    HLS_INDEPENDENT(own)
    // A word of partial sums is read and written in one iteration.
    HLS_INDEPENDENT(partial)
    Packed<ResultWord> queue[UNITS][QUEUE_WORDS];
    HLS_BANKS(queue)
    HLS_STORAGE(queue, ram_s2p, lutram)
    HLS_RETURNS_AFTER_TWO(queue)
    Packed<Sums> sums[UNITS][TILES];
    HLS_BANKS(sums)
    HLS_STORAGE(sums, ram_s2p, lutram)
    HLS_RETURNS_AFTER_TWO(sums)
    const Groups groups(d);
    Packed<Divisor> divisors[UNITS][TILES];
    HLS_BANKS(divisors)
    HLS_STORAGE(divisors, ram_s2p, lutram)
    HLS_RETURNS_AFTER_TWO(divisors)
    const bool dense = d.operation == OPERATION_DENSE, scores = is_step(d, ATTENTION_SCORES);
    const bool maxima = is_step(d, ATTENTION_MAXIMA), messages = is_step(d, ATTENTION_MESSAGES);
    const bool dots = has_dots(d), of_edges = scores_edges(d), queries = is_step(d, ATTENTION_QUERIES);
    const bool pairs = has_pairs(d);
    const bool residual = adds_own(d);
    const bool accumulates = PARTIAL_WORDS > 0 && d.accumulate != 0;
    const bool keeps = PARTIAL_WORDS > 0 && d.target == TARGET_PARTIAL;
    const bool symmetric = SYMMETRIC && d.symmetric != 0;
    int limit = QUEUE_WORDS;  // rows that a queue holds
    for (int log = 0; log < TILES_BITS; ++log) {
        HLS_UNROLL
        if (d.tiles > 1 << log) limit = QUEUE_WORDS >> (log + 1);
    }
    const Tile last_tile = d.tiles - 1;
    // The rows of all groups take turns in a table; a unit's own rows are its own.
    const int row_step = (d.target == TARGET_OWN ? 1 : mode_of(d).m) * d.target_tiles.to_int();

    // An entry of a message has a word of scores in front of those of its row; one with a score of its own meets a query.
    Front front(unpack<Slot>(slots.read()), messages ? Tile(d.tiles + 1) : of_edges ? Tile(d.entries) : Tile(d.tiles));
    Back back(d);
    back.following = first_groups(d, groups);
    Entry entry[UNITS];
    Kept<Sums> kept[UNITS];
    Kept<Divisor> counted[UNITS];
    NumberWord scored[UNITS];  // scores of the entry
    NumberWord node[UNITS];    // scores of the row's node, whose entry comes first
    Best best[UNITS];
    Place row_at[UNITS];       // the first own word of the row
    Place partial_at[UNITS];   // the next word of partial sums
    ap_uint<bits_of(QUEUE_WORDS - 1)> written[UNITS], taken[UNITS];
    HLS_REGISTERS(entry)
    HLS_REGISTERS(kept)
    HLS_REGISTERS(counted)
    HLS_REGISTERS(scored)
    HLS_REGISTERS(node)
    HLS_REGISTERS(best)
    HLS_REGISTERS(row_at)
    HLS_REGISTERS(partial_at)
    HLS_REGISTERS(written)
    HLS_REGISTERS(taken)
    for (int unit = 0; unit < UNITS; ++unit) {
        HLS_UNROLL
        written[unit] = 0;
        taken[unit] = 0;
        scored[unit] = zeros<NumberWord>();
        node[unit] = zeros<NumberWord>();
        // The largest scores of the rows lie behind those of the slot rows.
        row_at[unit] = messages && dots ? Place(d.own_base + d.count) : Place(d.own_base);
        partial_at[unit] = 0;
    }
    UnitMask fresh = ~UnitMask(0), pushed = 0;  // units whose row begins; groups that got a word an iteration ago
    UnitMask left[RETURN_DELAY];
    bool stops[RETURN_DELAY];
    HLS_REGISTERS(left)
    HLS_REGISTERS(stops)
    for (int ago = 0; ago < RETURN_DELAY; ++ago) {
        HLS_UNROLL
        left[ago] = 0;
        stops[ago] = false;
    }
    Address own_at = d.own_base;
    Lane lane = 0;
    Walk walk(d);
    bool beyond = false;  // a word has no place in its memory
    bool going = true;
    while (going) {
        HLS_PIPELINE
        HLS_TRIPS(MOST_STEPS)
        // What was known when an iteration began says whether another one follows: the last one finds nothing to do.
        going = front.going();
        // A tile of a slot row meets the words of the tables.
        const bool issued = front.goes();
        const Rounds<TILES_BITS> tile = front.tile;
        const bool reads = messages && tile.first, multiplies = issued && !reads;
        const Tile at = messages ? walk.word.at : of_edges ? Tile(0) : tile.at;
        const Tile following = messages ? walk.word.following() : of_edges ? Tile(0) : tile.following();
        const UnitMask begins = of_edges ? (tile.first ? UnitMask(~UnitMask(0)) : UnitMask(0)) : fresh;  // a result
        Sums after[UNITS];
        Divisor divisor[UNITS];
        NumberWord own_word[UNITS];
        UnitMask lacks = 0;  // a word that is added, or kept, has no place
        UnitMask waits = 0;  // an entry of the value 0 reads no shared table; where no row ends, its unit waits
        Packed<NumberWord> shared[UNITS];
        HLS_REGISTERS(shared)
        if (SHARED > 1 && issued) {
            Address address[UNITS];
            UnitMask absent = 0;
            HLS_REGISTERS(address)
            for (int unit = 0; unit < UNITS; ++unit) {
                HLS_UNROLL
                if (tile.first) entry[unit] = unpack<Entry>(entries[unit].read());
                address[unit] = entry[unit].address + tile.at;
                absent[unit] = !dense & (entry[unit].value == 0);
            }
            shared_words(table, address, absent, shared);
            waits = absent & ~front.slot.last;
        }
        HLS_REGISTERS(own_word)
        HLS_REGISTERS(after)
        HLS_REGISTERS(divisor)
        for (int unit = 0; unit < UNITS; ++unit) {
            HLS_UNROLL
            if (SHARED == 1 && issued && tile.first) entry[unit] = unpack<Entry>(entries[unit].read());
            const bool acts = issued && !waits[unit], counts = acts && !reads;
            ap_int<ENTRY_VALUE_BITS> value = entry[unit].value;
            NumberWord word = zeros<NumberWord>();
            own_word[unit] = zeros<NumberWord>();
            if (acts) {
                const bool at_score = dots && (maxima || reads);
                // Of a pair the second entry has a vector of its own.
                const Address vector_at = pairs && !fresh[unit] ? Address(d.own_base + d.tiles) : Address(d.own_base);
                const Place own_from = at_score ? Place(own_at)
                                       : queries ? Place(vector_at + at)
                                       : messages ? row_at[unit]
                                       : of_edges ? Place(row_at[unit] + tile.at)
                                       : residual ? Place(row_at[unit] + at) : Place(own_at);
                const bool within = (messages || residual || of_edges || at_score) && own_from < OWN_WORDS;
                const bool there = dense || (scores && !of_edges) || queries || within;
                if (there) own_word[unit] = unpack<NumberWord>(own[unit][own_from]);
                lacks[unit] = residual && !there;
                if (dense) value = lane_of(own_word[unit], lane);
                word = SHARED > 1 ? unpack<NumberWord>(shared[unit])
                                  : table_word(table, unit, entry[unit].address + tile.at);
                if (symmetric && fresh[unit] && (maxima || reads)) node[unit] = word;
                if (reads) scored[unit] = dots ? own_word[unit] : word;
            }
            // What goes round, the sums of a row, is worked out in every iteration and kept in those that count: a
            // condition around it would lie behind it.
            divisor[unit] = 0;
            if (messages) {
                // An entry of the value 0 is none. Of others it says what the row's sum counts.
                ap_uint<COEFFICIENT_BITS> weight = coefficient(d, scored[unit], own_word[unit], node[unit], walk.head);
                if (value == 0) weight = 0;
                const Divisor before = fresh[unit] ? Divisor(0) : counted[unit].before(d.tiles);
                divisor[unit] = before + counted_as(weight, ap_uint<ENTRY_VALUE_BITS>(value));
                counted[unit].keep(counts, divisor[unit], at, following, divisors[unit]);
                value = weight;
            }
            if (maxima) value = 1;
            const NumberWord met = dots && maxima ? own_word[unit] : word;
            Sums products = multiply(met, scores || queries ? values_of(own_word[unit]) : same(value));
            if (scores) products = score(products, walk.lane());
            Reduction rule(begins[unit], d.reduce != 0);
            if (SOFTMAX && maxima) rule.keep_targets(begins[unit]);
            if (symmetric && maxima && counts) rule.choose(best[unit].meet(node[unit], word, fresh[unit]));
            after[unit] = accumulate(products, kept[unit].before(d.tiles), rule);
            kept[unit].keep(counts, after[unit], at, following, sums[unit]);
        }
        // Rows that end go into the queues, and scores of edges when their last word is met.
        const UnitMask last = front.slot.last, every = ~UnitMask(0);
        const UnitMask results = !of_edges ? last : tile.last ? every : UnitMask(0);
        const UnitMask ends = multiplies && !front.drops ? UnitMask(results & groups.leads) : UnitMask(0);
        const UnitMask makes = groups.members(ends);
        for (int unit = 0; unit < UNITS; ++unit) {
            HLS_UNROLL
            if (makes[unit]) {
                Sums total = gather(d, unit, after);
                const Place place = partial_at[unit];
                const bool fits = place < PARTIAL_WORDS;
                if (accumulates && fits) total = onwards(total, unpack<Sums>(partial[unit][place]), d.reduce != 0);
                if (keeps && fits) partial[unit][place] = pack(total);
                if ((accumulates || keeps) && !fits) lacks[unit] = true;
                ++partial_at[unit];
                const NumberWord& held = own_word[unit];
                queue[unit][written[unit]] = pack(finish(d, unit, at, total, divisor[unit], held, bias, activation));
                ++written[unit];
            }
        }
        const UnitMask begun = tile.last ? ends : UnitMask(0);
        if (issued && tile.last) {
            fresh = last | (fresh & waits);
            const bool row_ends = last[0];
            if (scores) own_at = row_ends ? Address(d.own_base) : Address(own_at + 1);
            else if (dots) ++own_at;
            else if (row_ends || lane == LANES - 1) ++own_at;
            lane = row_ends ? Lane(0) : Lane(lane + 1);
            for (int unit = 0; unit < UNITS; ++unit) {
                HLS_UNROLL
                const Tile words = of_edges ? Tile(d.entries) : residual ? Tile(d.target_tiles) : Tile(1);
                if (last[unit]) row_at[unit] += words;
            }
        }
        walk.next((scores || messages) && multiplies, scores && !of_edges);

        // Results leave.
        const bool broken = breaks(d, front, back, limit);  // counts from the next iteration on: then nothing can leave
        const UnitMask leaving = granted(d, back), popped = groups.members(leaving);
        Packed<ResultWord> head[UNITS];
        HLS_REGISTERS(head)
        UnitMask whole = 0, over = lacks & makes;
        for (int unit = 0; unit < UNITS; ++unit) {
            HLS_UNROLL
            head[unit] = 0;
            if (popped[unit]) {
                head[unit] = queue[unit][taken[unit]];
                ++taken[unit];
                if (d.target == TARGET_OWN) {
                    const Place address = back.row[unit] + back.tile[unit];
                    if (address >= OWN_WORDS) over[unit] = true;
                    const Packed<NumberWord> numbers = pack(numbers_of(unpack<ResultWord>(head[unit])));
                    if (address < OWN_WORDS) own[unit][address] = numbers;
                }
            }
            whole[unit] = back.tile[unit] == last_tile;
        }
        if (d.target == TARGET_TABLE && write_tables(d, groups, leaving, back, head, table)) over[0] = true;
        beyond = beyond || over != 0;
        const bool leaves = complete(d, back);
        if (leaves) logits.write(logit_beat(d, leaving, head));
        for (int unit = 0; unit < UNITS; ++unit) {
            HLS_UNROLL
            if (popped[unit]) {
                back.tile[unit] = whole[unit] ? Tile(0) : Tile(back.tile[unit] + 1);
                if (whole[unit]) back.row[unit] += row_step;
            }
        }
        const UnitMask ended = leaving & whole;
        take_turns(d, groups, leaves, back);
        back.words.next(pushed, leaving);
        back.rows.next(begun, ended);
        back.broken = back.broken || broken;
        pushed = ends;

        // What left makes room later.
        front.next(issued, begun, left[RETURN_DELAY - 1], limit, slots);
        front.drops = stops[RETURN_DELAY - 1];
        for (int ago = RETURN_DELAY - 1; ago > 0; --ago) {
            HLS_UNROLL
            left[ago] = left[ago - 1];
            stops[ago] = stops[ago - 1];
        }
        left[0] = ended;
        stops[0] = back.broken;
    }
    const bool missing = d.target == TARGET_LOGITS && back.beats.more;
    if (missing) fill(back.beats.left.to_uint(), logits);
    return status_if(beyond, MEMORY_OVER_CAPACITY) | status_if(missing || back.broken, SCHEDULE_BROKEN);
}
