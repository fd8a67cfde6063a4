// Package match decides which VM a Node is. The cloud provider binds Nodes by it, and whatever explains, checks or shows Nodes
// asks it, too: nothing else compares a Node with VMs.
//
// It is pure: it knows no client of Kubernetes and none of vSphere. Package kubenode reads the facts of a Node object.
//
//	a := match.Find(node, match.List[match.VM]{VMs: vms}, match.Choices{})
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
	// ErrNotFound says that the index holds no such VM. It is no proof that there is none.
	ErrNotFound = errors.New("vm not found")
	// ErrAmbiguous says that several VMs answer to the same name, address or UUID.
	ErrAmbiguous = errors.New("several vms match")
)

// Node is what identifies the VM of a Node.
type Node struct {
	Name, ProviderID, SystemUUID string
	// HostNames are the names that the kubelet reports besides Name.
	HostNames []string
	// IPs are the addresses that the kubelet was given (--node-ip), and those that it reports as internal.
	IPs []string
}

// VM is what is compared of a VM.
type VM struct {
	// VCenter and Ref name the VM. Of several equal VMs the first by these is preferred.
	VCenter, Ref string
	// UUID is its BIOS UUID, zero while it is not known.
	UUID UUID
	// HostName is what the guest reports.
	HostName string
	// Addresses are the guest's. Only [List] reads them.
	Addresses []netip.Addr
	// Connected says that its host is there, On that it is powered on.
	Template, Connected, On bool
}

// Candidate is a VM as its index keeps it.
type Candidate interface {
	fmt.Stringer
	// Facts returns what is compared of it.
	Facts() VM
}

// Index finds VMs. Implemented by the provider's inventory and by [List].
type Index[V Candidate] interface {
	// ByUUID finds VMs by BIOS UUID: as given, or when no VM has that, with the byte order swapped.
	ByUUID(UUID) Result[V]
	// ByHostName finds VMs by the hostname that the guest reports, see [SameHostName]; VMs with exactly the name come before
	// others.
	ByHostName(string) Result[V]
	// ByIP finds VMs by an address of the guest.
	ByIP(netip.Addr) Result[V]
}

// Result is what an index finds.
type Result[V Candidate] struct {
	// VMs are those found on vCenters that are in sync. It must not be changed.
	VMs []V
	// Doubt says which vCenters could not be asked, and why; nil when all could.
	Doubt error
}

// One returns the only VM of the result. Without one the error is [ErrNotFound], joined with the doubt there is; with
// several it names them and wraps [ErrAmbiguous].
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

// Choices are those in which upstream's provider matches in another way. Package provider says where; false is ours.
type Choices struct {
	// FirstOfSeveral: one of several VMs is as good as another.
	FirstOfSeveral bool
	// ForeignIsUnknown: a providerID of another provider is a UUID that no VM has.
	ForeignIsUnknown bool
	// ProviderIDAlone: the system UUID of a node with a providerID does not count.
	ProviderIDAlone bool
}

// Reason says what came of a search.
type Reason string

// The reasons.
const (
	Found    Reason = "found"
	NotFound Reason = "not found"
	// Ambiguous: several VMs match, and none is taken rather than the wrong one.
	Ambiguous Reason = "ambiguous"
	// Unsure: a vCenter that cannot be asked may have the VM, or another one of its name.
	Unsure Reason = "unsure"
	// Foreign: nothing is concluded of a Node with another cloud's providerID.
	Foreign Reason = "foreign providerID"
	// Invalid: the providerID is vSphere's and holds no UUID.
	Invalid Reason = "invalid providerID"
)

// By is what a VM is searched by.
type By string

// What VMs are searched by, in this order. Without a providerID that is set, the next one counts when no VM has the first.
const (
	ByProviderID By = "providerID"
	BySystemUUID By = "system UUID"
	ByHostName   By = "hostname"
	ByAddress    By = "address"
)

// Answer is which VM a Node is.
type Answer[V Candidate] struct {
	// VM is the Node's VM when Reason is Found.
	VM     V
	Reason Reason
	// By and Key are what decided: the providerID, UUID, hostname or address. When no VM is found by anything it is the
	// Node's name.
	By  By
	Key string
	// Swapped says that the UUID is the VM's in the other byte order.
	Swapped bool
	// VMs are those that match By and Key.
	VMs []V
	// Err is nil for a VM that is found. It wraps [ErrNotFound], [ErrAmbiguous], [ErrForeignProviderID] or
	// [ErrInvalidProviderID]; of a Node whose system UUID is that of another VM than its providerID it wraps a [*StaleError].
	Err error
}

// Find returns the VM that a node runs on: the one of its providerID; without a providerID the one of its system UUID, else of
// its hostname, else of an address of it.
func Find[V Candidate](n Node, in Index[V], c Choices) Answer[V] {
	if n.ProviderID != "" {
		return byProviderID(n, in, c)
	}
	if u, err := ParseUUID(n.SystemUUID); err == nil {
		r := in.ByUUID(u)
		a := newAnswer(BySystemUUID, u.String(), r, func(r Result[V]) (V, error) {
			return oneOfUUID(withoutTemplates(r), n.Name, c)
		})
		a.Swapped = len(a.VMs) > 0 && a.VMs[0].Facts().UUID != u
		// A vCenter that cannot be asked may hold the VM of this UUID. One elsewhere that happens to have the node's
		// name must not take its place.
		if a.Reason != NotFound {
			return a
		}
	}
	return byName(n, in, c)
}

// newAnswer returns what one makes of r.
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

// byProviderID finds the VM that a node was bound to when it was initialized. Nothing else counts for it.
func byProviderID[V Candidate](n Node, in Index[V], c Choices) Answer[V] {
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
		if other, ok, _ := Elsewhere(n, u, in, c); ok {
			a.Err = fmt.Errorf("%w, and %w", a.Err, &StaleError{n.ProviderID, other.String()})
		}
	}
	return a
}

// BoundTo returns the UUID in a node's providerID. As upstream's choice another provider's stands for one that no VM has.
func BoundTo(n Node, c Choices) (UUID, error) {
	u, err := ParseProviderID(n.ProviderID)
	if errors.Is(err, ErrForeignProviderID) && c.ForeignIsUnknown {
		return UUID{0: 0xff}, nil
	}
	return u, err
}

// byName finds a node without a UUID that any vCenter knows: by hostname, then by address. It needs the answer of
// every vCenter: one that cannot be asked may hold another VM of that name.
func byName[V Candidate](n Node, in Index[V], c Choices) Answer[V] {
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

// Names returns the names that the node's guest may go by: the node's own, and what the kubelet reports.
func (n Node) Names() (names []string) {
	for _, name := range append([]string{n.Name}, n.HostNames...) {
		if name != "" && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			names = append(names, name)
		}
	}
	return names
}

// Addresses returns the addresses by which a node may be found: its name, when it is one, as upstream has it. What the
// kubelet was given or reports counts for a node that tells no system UUID. One that tells a UUID which no vCenter knows
// runs on no VM of theirs, but for containers, and a VM of another network may well have its address.
func (n Node) Addresses() []netip.Addr {
	texts := []string{n.Name}
	if _, err := ParseUUID(n.SystemUUID); err != nil {
		texts = append(texts, n.IPs...)
	}
	return ParseAddresses(texts)
}

// ParseAddresses returns the IP addresses among texts, each once.
func ParseAddresses(texts []string) (ips []netip.Addr) {
	for _, s := range texts {
		if ip, err := netip.ParseAddr(strings.TrimSpace(s)); err == nil && !slices.Contains(ips, ip) {
			ips = append(ips, ip)
		}
	}
	return ips
}

// One returns the only VM of r. Among several of the same UUID (a clone keeps it if made carelessly) or the same name, it
// is the only one that is no template, or the only one of these whose guest has exactly the node's name, case aside.
func One[V Candidate](r Result[V], node string, c Choices) (V, error) {
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

// oneOfUUID is One for VMs of the same UUID: where one VM is registered twice, after a host was lost or on its way
// between vCenters, it is the registration that is alive.
func oneOfUUID[V Candidate](r Result[V], node string, c Choices) (V, error) {
	if !c.FirstOfSeveral {
		r.VMs = preferred(r.VMs, func(vm VM) bool { return vm.Connected })
	}
	return One(r, node, c)
}

// preferred returns those of vms that are wanted, or all when none is.
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

// first is the same VM whatever the order they come in.
func first[V Candidate](vms []V) V {
	return slices.MinFunc(vms, func(a, b V) int {
		x, y := a.Facts(), b.Facts()
		return cmp.Or(cmp.Compare(x.VCenter, y.VCenter), cmp.Compare(x.Ref, y.Ref))
	})
}

// withoutTemplates drops VMs that no node can be bound to. A node already bound to one keeps it.
func withoutTemplates[V Candidate](r Result[V]) Result[V] {
	isTemplate := func(vm V) bool { return vm.Facts().Template }
	if slices.ContainsFunc(r.VMs, isTemplate) {
		r.VMs = slices.DeleteFunc(slices.Clone(r.VMs), isTemplate)
	}
	return r
}

// OtherUUID returns the node's system UUID where that is of another VM than bound, and counts.
func OtherUUID(n Node, bound UUID, c Choices) (UUID, bool) {
	u, err := ParseUUID(n.SystemUUID)
	return u, err == nil && !c.ProviderIDAlone && !u.Is(bound)
}

// Elsewhere returns the VM of the node's system UUID when that is another UUID than bound; of several one that is on.
// There is none when no VM has that UUID, which in a container need not be the machine's; doubt says that there may be.
func Elsewhere[V Candidate](n Node, bound UUID, in Index[V], c Choices) (other V, ok bool, doubt error) {
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

// StaleError says that a node's providerID is no longer that of the VM which it runs on.
type StaleError struct {
	ProviderID string
	// RunsOn names the VM of its system UUID.
	RunsOn string
}

// Error says what to do about it.
func (e *StaleError) Error() string {
	return fmt.Sprintf("the node's system uuid is that of vm %s, not that of its providerID %s: delete the node, and it registers anew when its kubelet is restarted", e.RunsOn, e.ProviderID)
}

// FoldHostName returns a DNS name in the form in which names are compared. It allocates for names in upper case alone.
func FoldHostName(s string) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimSpace(s), "."))
}

// SameHostName reports whether a guest's hostname is a name: exactly but for case, or shortly, when one of them is the first
// label of the other. A full name in another domain is another's.
func SameHostName(guest, name string) (exactly, shortly bool) {
	guest, name = FoldHostName(guest), FoldHostName(name)
	if guest == "" || name == "" {
		return false, false
	}
	label, _, full := strings.Cut(guest, ".")
	other, _, fullToo := strings.Cut(name, ".")
	return guest == name, full != fullToo && label == other
}

// List is an [Index] of VMs at hand. Doubt says why there may be more.
type List[V Candidate] struct {
	VMs   []V
	Doubt error
}

// ByUUID implements [Index].
func (l List[V]) ByUUID(u UUID) Result[V] {
	if r := l.where(func(vm VM) bool { return vm.UUID == u }); len(r.VMs) > 0 {
		return r
	}
	return l.where(func(vm VM) bool { return vm.UUID == u.Swapped() })
}

// ByHostName implements [Index].
func (l List[V]) ByHostName(name string) Result[V] {
	exact := l.where(func(vm VM) bool { exactly, _ := SameHostName(vm.HostName, name); return exactly })
	if len(exact.VMs) > 0 {
		return exact
	}
	return l.where(func(vm VM) bool { _, shortly := SameHostName(vm.HostName, name); return shortly })
}

// ByIP implements [Index].
func (l List[V]) ByIP(ip netip.Addr) Result[V] {
	ip = ip.Unmap().WithZone("")
	return l.where(func(vm VM) bool { return slices.Contains(vm.Addresses, ip) })
}

func (l List[V]) where(f func(VM) bool) Result[V] {
	r := Result[V]{Doubt: l.Doubt}
	for _, vm := range l.VMs {
		if f(vm.Facts()) {
			r.VMs = append(r.VMs, vm)
		}
	}
	return r
}

// Facts implements [Candidate].
func (vm VM) Facts() VM { return vm }

// String names the VM in messages.
func (vm VM) String() string { return vm.VCenter + "/" + vm.Ref }
