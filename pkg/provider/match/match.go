// Package match decides which VM a Node runs on. The cloud provider binds Nodes with it, and everything else that compares
// Nodes with VMs uses it too.
//
// It has no Kubernetes or vSphere client. Package kubenode extracts the facts of a Node object.
//
//	a := match.Find(node, match.List[match.VM]{VMs: vms}, match.Behavior{})
//	if a.Reason == match.Found { … a.VM … }
package match

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

var (
	// ErrNotFound reports that the index has no such VM. It does not prove that none exists.
	ErrNotFound = errors.New("vm not found")
	// ErrAmbiguous reports that several VMs have the same name, address or UUID.
	ErrAmbiguous = errors.New("several vms match")
)

// Node is what identifies the VM of a Node.
type Node struct {
	Name, ProviderID, SystemUUID string
	// HostNames are the names that the kubelet reports besides Name.
	HostNames []string
	// IPs are the kubelet's --node-ip addresses, and those that it reports as internal.
	IPs []string
}

// VM contains the facts about a VM that are compared.
type VM struct {
	// VCenter and Ref identify the VM. Of several equal VMs, the first by these is preferred.
	VCenter, Ref string
	// UUID is its BIOS UUID; zero if unknown.
	UUID UUID
	// HostName is what the guest reports.
	HostName string
	// Addresses are the guest's. Only [List] uses them.
	Addresses []netip.Addr
	// Connected reports that its host is connected, On that it is powered on.
	Template, Connected, On bool
}

// Candidate is a VM in an index.
type Candidate interface {
	fmt.Stringer
	// Facts returns the facts about it that are compared.
	Facts() VM
}

// Index finds VMs. The provider's inventory and [List] implement it.
type Index[V Candidate] interface {
	// ByUUID finds VMs by BIOS UUID. It tries the swapped byte order only if no VM has the UUID as given.
	ByUUID(UUID) Result[V]
	// ByHostName finds VMs by the hostname that the guest reports; see [SameHostName]. VMs with exactly the name come first.
	ByHostName(string) Result[V]
	// ByIP finds VMs by an address of the guest.
	ByIP(netip.Addr) Result[V]
}

// Result is the outcome of a lookup.
type Result[V Candidate] struct {
	// VMs are the matches on vCenters that are in sync. Callers must not modify it.
	VMs []V
	// Doubt reports which vCenters could not be queried, and why; nil if all could.
	Doubt error
}

// One returns the only VM of the result. Without one, the error is [ErrNotFound], joined with the doubt. If there are
// several, the error lists them and wraps [ErrAmbiguous].
func (r Result[V]) One() (vm V, err error) {
	switch {
	case len(r.VMs) == 1:
		return r.VMs[0], nil
	case len(r.VMs) > 1:
		return vm, fmt.Errorf("%w: %v", ErrAmbiguous, r.VMs)
	case r.Doubt != nil:
		return vm, fmt.Errorf("%w, but not every vcenter could be asked: %w", ErrNotFound, r.Doubt)
	}
	return vm, ErrNotFound
}

// Behavior are behaviors of upstream's provider that differ from ours; see package provider. False selects ours.
type Behavior struct {
	// FirstOfSeveral: of several VMs, any one is returned.
	FirstOfSeveral bool
	// ForeignIsUnknown: another provider's providerID counts as a UUID that no VM has.
	ForeignIsUnknown bool
	// ProviderIDAlone: the system UUID of a node with a providerID is ignored.
	ProviderIDAlone bool
}

// Reason is the outcome of a search.
type Reason string

// The outcomes of a search.
const (
	Found    Reason = "found"
	NotFound Reason = "not found"
	// Ambiguous means that several VMs match, and none is returned rather than the wrong one.
	Ambiguous Reason = "ambiguous"
	// Unsure means that a vCenter that cannot be queried may have the VM, or another one with its name.
	Unsure Reason = "unsure"
	// Foreign means that the providerID is another cloud's, so nothing is known about the Node.
	Foreign Reason = "foreign providerID"
	// Invalid means that the providerID is vSphere's but contains no UUID.
	Invalid Reason = "invalid providerID"
)

// By is the key of a search.
type By string

// The keys, in order. A Node with a providerID is searched by that alone; otherwise each key is used if the ones before
// found no VM.
const (
	ByProviderID By = "providerID"
	BySystemUUID By = "system UUID"
	ByHostName   By = "hostname"
	ByAddress    By = "address"
)

// Answer is the outcome of [Find].
type Answer[V Candidate] struct {
	// VM is the Node's VM if Reason is Found.
	VM     V
	Reason Reason
	// By and Key are the deciding key and its value: the providerID, UUID, hostname or address. If no key finds a VM, they
	// are the Node's name.
	By  By
	Key string
	// Swapped reports that the VM has the UUID in the other byte order.
	Swapped bool
	// VMs are those that match By and Key.
	VMs []V
	// Err is nil if a VM is found. It wraps [ErrNotFound], [ErrAmbiguous], [ErrForeignProviderID] or
	// [ErrInvalidProviderID], and also a [*StaleError] if the Node's system UUID belongs to another VM than its providerID.
	Err error
}

// Find returns the VM that a node runs on: the VM with its providerID; without a providerID the VM with its system UUID, else
// with its hostname, else with one of its addresses.
func Find[V Candidate](n Node, in Index[V], c Behavior) Answer[V] {
	if n.ProviderID != "" {
		return byProviderID(n, in, c)
	}
	if u, err := ParseUUID(n.SystemUUID); err == nil {
		r := in.ByUUID(u)
		a := newAnswer(BySystemUUID, u.String(), r, func(r Result[V]) (V, error) {
			return oneOfUUID(withoutTemplates(r), n.Name, c)
		})
		a.Swapped = len(a.VMs) > 0 && a.VMs[0].Facts().UUID != u
		// A vCenter that cannot be queried may have the VM with this UUID. Another VM that happens to have the node's name
		// must not take its place.
		if a.Reason != NotFound {
			return a
		}
	}
	return byName(n, in, c)
}

// newAnswer converts r with one.
func newAnswer[V Candidate](by By, key string, r Result[V], one func(Result[V]) (V, error)) Answer[V] {
	a := Answer[V]{By: by, Key: key, VMs: r.VMs, Reason: Found}
	if a.VM, a.Err = one(r); a.Err == nil {
		return a
	}
	a.Err = fmt.Errorf("%s %s: %w", strings.Replace(string(by), "UUID", "uuid", 1), key, a.Err)
	switch {
	case errors.Is(a.Err, ErrAmbiguous):
		a.Reason = Ambiguous
	case r.Doubt != nil:
		a.Reason = Unsure
	default:
		a.Reason, a.VMs = NotFound, nil
	}
	return a
}

// byProviderID finds the VM that a node was bound to when it was initialized, by no other key.
func byProviderID[V Candidate](n Node, in Index[V], c Behavior) Answer[V] {
	u, err := BoundTo(n, c)
	if err != nil {
		a := Answer[V]{By: ByProviderID, Key: n.ProviderID, Reason: Foreign, Err: err}
		if errors.Is(err, ErrInvalidProviderID) {
			a.Reason = Invalid
		}
		return a
	}
	a := newAnswer(ByProviderID, n.ProviderID, in.ByUUID(u), func(r Result[V]) (V, error) {
		return oneOfUUID(r, n.Name, c)
	})
	a.Swapped = len(a.VMs) > 0 && a.VMs[0].Facts().UUID != u
	if a.Reason != Found {
		if other, ok, _ := FindDifferent(n, u, in, c); ok {
			a.Err = fmt.Errorf("%w, and %w", a.Err, &StaleError{n.ProviderID, other.String()})
		}
	}
	return a
}

// BoundTo returns the UUID in a node's providerID. With ForeignIsUnknown, another provider's is a UUID that no VM has.
func BoundTo(n Node, c Behavior) (UUID, error) {
	u, err := ParseProviderID(n.ProviderID)
	if errors.Is(err, ErrForeignProviderID) && c.ForeignIsUnknown {
		return UUID{0: 0xff}, nil
	}
	return u, err
}

// byName finds a node without a UUID that any vCenter has, by hostname and then by address. All vCenters must be in sync,
// because another one may have a VM with the same name.
func byName[V Candidate](n Node, in Index[V], c Behavior) Answer[V] {
	certain := func(r Result[V]) (vm V, err error) {
		if r.Doubt != nil {
			return vm, fmt.Errorf("%d vms match, but not every vcenter could be asked: %w", len(r.VMs), r.Doubt)
		}
		return One(withoutTemplates(r), n.Name, c)
	}
	names, ips := n.Names(), n.Addresses()
	for _, name := range names {
		if a := newAnswer(ByHostName, name, in.ByHostName(name), certain); a.Reason != NotFound {
			return a
		}
	}
	for _, ip := range ips {
		if a := newAnswer(ByAddress, ip.String(), in.ByIP(ip), certain); a.Reason != NotFound {
			return a
		}
	}
	err := fmt.Errorf("system uuid %q, hostnames %v, addresses %v: %w", n.SystemUUID, names, ips, ErrNotFound)
	return Answer[V]{By: ByHostName, Key: n.Name, Reason: NotFound, Err: err}
}

// Names returns the possible hostnames of the node's guest: the node's own name, and those that the kubelet reports.
func (n Node) Names() (names []string) {
	for _, name := range append([]string{n.Name}, n.HostNames...) {
		if name != "" && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			names = append(names, name)
		}
	}
	return names
}

// Addresses returns the addresses by which a node may be found. As upstream, its name counts if it is an address. The
// kubelet's addresses count for a node without a system UUID. A node with a UUID that no vCenter has does not run on one of
// their VMs (containers excepted), and a VM on another network may well have the same address.
func (n Node) Addresses() []netip.Addr {
	texts := []string{n.Name}
	if _, err := ParseUUID(n.SystemUUID); err != nil {
		texts = append(texts, n.IPs...)
	}
	return ParseAddresses(texts)
}

// UUID returns the UUID by which [Find] searches first: that of the providerID, or without a providerID the system UUID.
func (n Node) UUID() (UUID, error) {
	if n.ProviderID != "" {
		return ParseProviderID(n.ProviderID)
	}
	return ParseUUID(n.SystemUUID)
}

// One returns the only VM of r. Of several with the same UUID (a careless clone keeps it) or the same name, it returns the
// only one that is not a template, or the only one of these whose guest has the node's name, ignoring case.
func One[V Candidate](r Result[V], node string, c Behavior) (V, error) {
	vm, err := r.One()
	if !errors.Is(err, ErrAmbiguous) {
		return vm, err
	}
	if c.FirstOfSeveral {
		return first(r.VMs), nil
	}
	vms := preferred(r.VMs, func(vm VM) bool { return !vm.Template })
	vms = preferred(vms, func(vm VM) bool { return strings.EqualFold(vm.HostName, node) })
	if len(vms) == 1 {
		return vms[0], nil
	}
	return vm, err
}

// oneOfUUID is One for VMs with the same UUID. If one VM is registered twice, after a host failure or during a migration
// between vCenters, it returns the connected one.
func oneOfUUID[V Candidate](r Result[V], node string, c Behavior) (V, error) {
	if !c.FirstOfSeveral {
		r.VMs = preferred(r.VMs, func(vm VM) bool { return vm.Connected })
	}
	return One(r, node, c)
}

// preferred returns the VMs that are wanted, or all if none is.
func preferred[V Candidate](vms []V, wanted func(VM) bool) []V {
	if len(vms) < 2 {
		return vms
	}
	left := slices.DeleteFunc(slices.Clone(vms), func(vm V) bool { return !wanted(vm.Facts()) })
	if len(left) == 0 {
		return vms
	}
	return left
}

// first returns the same VM for any order of vms.
func first[V Candidate](vms []V) V {
	return slices.MinFunc(vms, func(a, b V) int {
		x, y := a.Facts(), b.Facts()
		return cmp.Or(cmp.Compare(x.VCenter, y.VCenter), cmp.Compare(x.Ref, y.Ref))
	})
}

// withoutTemplates drops templates, to which no node can be bound. A node already bound to one keeps it.
func withoutTemplates[V Candidate](r Result[V]) Result[V] {
	isTemplate := func(vm V) bool { return vm.Facts().Template }
	if slices.ContainsFunc(r.VMs, isTemplate) {
		r.VMs = slices.DeleteFunc(slices.Clone(r.VMs), isTemplate)
	}
	return r
}

// OtherUUID returns the node's system UUID, and whether it counts and belongs to another VM than bound.
func OtherUUID(n Node, bound UUID, c Behavior) (UUID, bool) {
	u, err := ParseUUID(n.SystemUUID)
	return u, err == nil && !c.ProviderIDAlone && !u.Equal(bound)
}

// FindDifferent returns the VM with the node's system UUID if that differs from bound; of several it prefers one that is on. ok
// is false if no VM has that UUID, which in a container need not be the VM's. doubt reports that one may have it.
func FindDifferent[V Candidate](n Node, bound UUID, in Index[V], c Behavior) (other V, ok bool, doubt error) {
	u, ok := OtherUUID(n, bound, c)
	if !ok {
		return other, false, nil
	}
	r := withoutTemplates(in.ByUUID(u))
	if len(r.VMs) == 0 {
		if r.Doubt != nil {
			doubt = fmt.Errorf("system uuid %s may be that of another vm, and not every vcenter could be asked: %w", u, r.Doubt)
		}
		return other, false, doubt
	}
	return first(preferred(r.VMs, func(vm VM) bool { return vm.On })), true, nil
}

// StaleError reports that a node runs on another VM than that of its providerID.
type StaleError struct {
	ProviderID string
	// RunsOn is the VM with its system UUID.
	RunsOn string
}

// Error returns what to do about it.
func (e *StaleError) Error() string {
	return fmt.Sprintf("the node's system uuid is that of vm %s, not that of its providerID %s: delete the node and restart its kubelet, which registers it again", e.RunsOn, e.ProviderID)
}

// Facts implements [Candidate].
func (vm VM) Facts() VM { return vm }

// String returns the VM for messages.
func (vm VM) String() string { return vm.VCenter + "/" + vm.Ref }

var (
	// ErrForeignProviderID reports that a node belongs to another cloud provider. Nothing is known about such a node: a lookup
	// would return "not found", and the node would be deleted.
	ErrForeignProviderID = errors.New("providerID is not one of vsphere")
	// ErrInvalidProviderID reports that a providerID is vSphere's but contains no UUID. Upstream's provider has given nodes an
	// empty one while a vCenter reported no UUID (kubernetes/cloud-provider-vsphere#521). It cannot be changed: the node must
	// be deleted and register again.
	ErrInvalidProviderID = errors.New("providerID holds no uuid")
)
