package inventory

import "github.com/vmware/govmomi/vim25/types"

// maxInterned bounds an interner. Few strings are shared by many VMs; the rest are left over from VMs long gone.
const maxInterned = 1 << 16

// interner stores equal strings once: every VM repeats the names of networks, hosts and guests. It is not safe for
// concurrent use.
type interner struct{ known map[string]string }

func (i *interner) text(s string) string {
	if s == "" {
		return ""
	}
	if one, ok := i.known[s]; ok {
		return one
	}
	if i.known == nil || len(i.known) >= maxInterned {
		i.known = map[string]string{}
	}
	i.known[s] = s
	return s
}

func (i *interner) ref(r types.ManagedObjectReference) types.ManagedObjectReference {
	r.Type, r.Value, r.ServerGUID = i.text(r.Type), i.text(r.Value), i.text(r.ServerGUID)
	return r
}
