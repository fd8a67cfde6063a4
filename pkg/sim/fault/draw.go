package fault

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// draw picks as many of the items as the mode allows. An item's rank depends only on its name and the seed: the same seed picks
// the same items, and a changed list changes the choice little.
func draw(items []Item, kind Object, r Request) ([]Item, error) {
	n, err := r.count(len(items), kind)
	if err != nil || n == len(items) {
		return items, err
	}
	type lot struct {
		at   int
		rank uint64
	}
	lots := make([]lot, len(items))
	for i, item := range items {
		lots[i] = lot{i, rand.NewPCG(r.Seed, item.hash()).Uint64()}
	}
	slices.SortFunc(lots, func(a, b lot) int { return cmp.Or(cmp.Compare(a.rank, b.rank), a.at-b.at) })
	lots = lots[:n]
	slices.SortFunc(lots, func(a, b lot) int { return a.at - b.at })
	picked := make([]Item, n)
	for i, l := range lots {
		picked[i] = items[l.at]
	}
	return picked, nil
}

// count returns how many of available items to pick.
func (r Request) count(there int, kind Object) (int, error) {
	if there == 0 {
		return 0, &Refusal{Code: "not-found", Message: fmt.Sprintf("there is no %s", kind.noun())}
	}
	switch r.Mode {
	case "":
		if there > 1 {
			return 0, &Refusal{
				Code: "ambiguous", Message: fmt.Sprintf("%d %s match", there, kind.plural()),
				Try: "say which, or --mode one|all|N|N%",
			}
		}
		return 1, nil
	case "one":
		return 1, nil
	case "all":
		return there, nil
	}
	n, percent, err := parseMode(r.Mode)
	if err != nil {
		return 0, err
	}
	if percent > 0 {
		return min(there, max(1, int(math.Ceil(float64(there)*percent/100-1e-9)))), nil
	}
	if n > there {
		return 0, &Refusal{Code: "not-found", Message: fmt.Sprintf("%d %s are wanted, and %d match", n, kind.plural(), there)}
	}
	return n, nil
}

// CheckMode returns an error for an invalid mode, without looking at any items.
func CheckMode(mode string) error {
	if mode == "" || mode == "one" || mode == "all" {
		return nil
	}
	_, _, err := parseMode(mode)
	return err
}

// parseMode parses a number or a percentage.
func parseMode(mode string) (n int, percent float64, err error) {
	bad := invalid("mode %q: is one, all, a number from 1, or a percentage up to 100%%", mode)
	if text, ok := strings.CutSuffix(mode, "%"); ok {
		if percent, err = strconv.ParseFloat(text, 64); err != nil || !(percent > 0 && percent <= 100) {
			return 0, 0, bad
		}
		return 0, percent, nil
	}
	if n, err = strconv.Atoi(mode); err != nil || n < 1 {
		return 0, 0, bad
	}
	return n, 0, nil
}
