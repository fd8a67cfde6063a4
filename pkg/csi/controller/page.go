package controller

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// tokenPrefix tells our tokens from others, and the forms of ours apart.
const tokenPrefix = "after:"

// token begins a page behind the entry of that id. It holds the id and nothing else, so that it is good after a restart,
// and pages neither repeat nor skip what was there all the time, whatever came and went in between.
func token(id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(tokenPrefix + id))
}

// page cuts a page out of entries that are in the order of their ids. The limit is the number of entries, 0 for all.
func page[T any](all []T, id func(T) string, starting string, limit int32) (entries []T, next string, err error) {
	if limit < 0 {
		return nil, "", invalid("max entries: %d: not negative", limit)
	}
	if starting != "" {
		text, err := base64.RawURLEncoding.DecodeString(starting)
		after, ok := strings.CutPrefix(string(text), tokenPrefix)
		if err != nil || !ok || after == "" {
			return nil, "", failed(fmt.Errorf("%q: %w", starting, volume.ErrToken), "starting token")
		}
		n, found := slices.BinarySearchFunc(all, after, func(e T, after string) int { return strings.Compare(id(e), after) })
		if found {
			n++
		}
		all = all[n:]
	}
	if limit > 0 && len(all) > int(limit) {
		all = all[:limit]
		next = token(id(all[limit-1]))
	}
	return all, next, nil
}
