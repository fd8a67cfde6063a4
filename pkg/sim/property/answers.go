package property

import (
	"strconv"

	"github.com/vmware/govmomi/vim25/types"
)

// answers keeps track of which versions a client may name. The zero value has
// given none.
type answers struct {
	// count is the number of the last version.
	count uint64
	// asked is the version with which last was asked for.
	asked string
	last  *types.UpdateSet
}

// verdict is what a version in a request means.
type verdict int

const (
	fresh   verdict = iota // the client knows nothing
	next                   // the client has the last answer
	again                  // the client has the one before
	unknown                // anything else: changes would be lost
)

// judge reads the version of a request.
func (a *answers) judge(version string) verdict {
	switch {
	case version == "":
		return fresh
	case a.last == nil:
		return unknown
	case version == a.last.Version:
		return next
	case version == a.asked:
		return again
	}
	return unknown
}

// give stamps an answer with its version.
func (a *answers) give(asked string, set *types.UpdateSet) *types.UpdateSet {
	a.count++
	set.Version = strconv.FormatUint(a.count, 10)
	a.asked, a.last = asked, set
	return set
}

// invalidate makes every version unknown.
func (a *answers) invalidate() { a.asked, a.last = "", nil }
