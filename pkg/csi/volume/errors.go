package volume

import "errors"

// What a [Store] or [Nodes] returns, wrapped with what it is about. Anything else is a failure that nothing is known of
// (Internal).
var (
	ErrNotFound     = errors.New("not found")                          // volume or snapshot
	ErrNodeGone     = errors.New("no VM for the node")                 // confirmed by all vCenters
	ErrInUse        = errors.New("in use")                             // attached to another VM, or attached at all
	ErrSnapshots    = errors.New("has snapshots")                      // what they forbid: deletion, expansion
	ErrNoSlot       = errors.New("no free SCSI slot")                  // of the VM
	ErrNoSpace      = errors.New("no space")                           // on any datastore allowed
	ErrNoDatastore  = errors.New("no datastore meets what is asked")   // topology, policy, URL
	ErrExists       = errors.New("exists with other properties")       // same name, other size or source
	ErrInvalid      = errors.New("invalid")                            // an argument
	ErrState        = errors.New("not in a state that allows it")      // of VM, host or datastore
	ErrPermission   = errors.New("permission denied")                  // of the vCenter's account
	ErrUnavailable  = errors.New("vcenter unavailable")                // down, unreachable, refused the login
	ErrLimit        = errors.New("limit reached")                      // snapshots per volume
	ErrPending      = errors.New("still being done")                   // the same operation is under way
	ErrNotSupported = errors.New("not supported")                      // by this vCenter or this volume
	ErrInTree       = errors.New("not done to in-tree volumes")        // which go by the path of their disk
	ErrToken        = errors.New("starting token is of no page known") // of a listing
)
