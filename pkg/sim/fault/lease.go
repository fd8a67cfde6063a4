package fault

import (
	"strconv"
	"strings"
	"time"
)

// State is the state of a lease.
type State string

// The states. A lease that failed to heal stays Failed until it is healed.
const (
	Applying State = "applying"
	Active   State = "active"
	Healing  State = "healing"
	Healed   State = "healed"
	Failed   State = "failed"
)

// Lease is an injected fault, as a value.
type Lease struct {
	// ID is short and unique for the life of a sandbox: f1, f2.
	ID      string
	Kind    string
	State   State
	Targets []Leased
	Params  Values
	Mode    string
	Seed    uint64
	Since   time.Time
	// Until is when it heals automatically; zero: never.
	Until time.Time
	// Ended is when it was healed.
	Ended time.Time
	// Seq is the event of the injection.
	Seq uint64
	// Note is a remark for the user: "was healed already".
	Note string
}

// Leased is one target of a lease.
type Leased struct {
	Target Item
	// Does describes the change.
	Does  string
	State State
	// Error is the reason why it was not applied or not healed.
	Error string
}

// number returns the number in the ID.
func (l Lease) number() int {
	n, _ := strconv.Atoi(strings.TrimPrefix(l.ID, "f"))
	return n
}
