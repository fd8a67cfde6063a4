package fault

import (
	"strconv"
	"strings"
	"time"
)

// State is what has become of a lease.
type State string

// The states. A lease that could not be healed stays Failed until it can.
const (
	Applying State = "applying"
	Active   State = "active"
	Healing  State = "healing"
	Healed   State = "healed"
	Failed   State = "failed"
)

// Lease is a fault that was injected. It is a value.
type Lease struct {
	// ID is short and never used again in the life of a sandbox: f1, f2.
	ID      string
	Kind    string
	State   State
	Targets []Leased
	Params  Values
	Mode    string
	Seed    uint64
	Since   time.Time
	// Until is when it heals by itself; zero: never.
	Until time.Time
	// Ended is when it was healed.
	Ended time.Time
	// Seq is the event of the injection.
	Seq uint64
	// Note is what else is to be said of it in an answer: "was healed already".
	Note string
}

// Leased is one target of a lease.
type Leased struct {
	Target Item
	// Does says what was done to it.
	Does  string
	State State
	// Error is why it could not be applied or healed.
	Error string
}

// number is that of the ID.
func (l Lease) number() int {
	n, _ := strconv.Atoi(strings.TrimPrefix(l.ID, "f"))
	return n
}
