package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// MissingTagError says that a VM has no region, no zone, or neither, with all that somebody needs who is to put it right.
type MissingTagError struct {
	VM *VM
	// Found is what the first walk that found anything did find, Categories are those of which it found no tag, in quotes.
	Categories []string
	Found      Zone
	// Walked names the objects looked at, each once, with their types: HostSystem "west-1". They are those from the host
	// upward, then from the resource pool, then from the VM.
	Walked []string
	// Tags are the tags of both categories that are on them, in the same order. There may be one of each: results of
	// different walks are not mixed.
	Tags []ObjectTag
	// Err is why the tags may not be the latest; nil when they are.
	Err error
}

// Object is an object of a vCenter's inventory.
type Object struct {
	Ref  types.ManagedObjectReference
	Name string // its reference while the name is not known
}

// String is what messages call the object: HostSystem "west-1".
func (o Object) String() string { return fmt.Sprintf("%s %q", o.Ref.Type, o.Name) }

// ObjectTag is a tag on an object.
type ObjectTag struct {
	Category, Tag string
	Object        Object
}

// String is what messages call the tag: "us-west" (k8s-zone) on Datacenter "west".
func (t ObjectTag) String() string { return fmt.Sprintf("%q (%s) on %s", t.Tag, t.Category, t.Object) }

// Error names the categories, everything that was looked at and the tags there.
func (e *MissingTagError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "vm %s: no tag of category %s on any of %s", e.VM, strings.Join(e.Categories, " or "), strings.Join(e.Walked, ", "))
	if slices.ContainsFunc(e.Tags, func(t ObjectTag) bool { return slices.Contains(e.Categories, quote(t.Category)) }) {
		b.Reset()
		fmt.Fprintf(&b, "vm %s: no way up has tags of both categories; looked at %s", e.VM, strings.Join(e.Walked, ", "))
	}
	for i, t := range e.Tags {
		b.WriteString([]string{"; found ", ", "}[min(i, 1)] + t.String())
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %s", e.Err)
	}
	return b.String()
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

// Unwrap returns Err.
func (e *MissingTagError) Unwrap() error { return e.Err }

// miss walks once more and notes everything.
func (w walker) miss(vm *VM, c Categories) *MissingTagError {
	w.index.mu.RLock()
	defer w.index.mu.RUnlock()
	e := &MissingTagError{VM: vm, Err: w.tags.missing()}
	seen := map[types.ManagedObjectReference]bool{}
	for _, start := range walks(vm) {
		if e.Found == (Zone{}) {
			e.Found, _ = w.walk(vm, start)
		}
		for ref := start; ref.Value != "" && !seen[ref]; ref = w.up(vm, ref) {
			seen[ref] = true
			o := Object{ref, w.index.name(ref)}
			e.Walked = append(e.Walked, o.String())
			for _, name := range w.tags.region[ref] {
				e.Tags = append(e.Tags, ObjectTag{c.Region, name, o})
			}
			for _, name := range w.tags.zone[ref] {
				e.Tags = append(e.Tags, ObjectTag{c.Zone, name, o})
			}
		}
	}
	for _, category := range []struct{ name, found string }{{c.Region, e.Found.Region}, {c.Zone, e.Found.Zone}} {
		if category.found == "" && !slices.Contains(e.Categories, quote(category.name)) {
			e.Categories = append(e.Categories, quote(category.name))
		}
	}
	return e
}
