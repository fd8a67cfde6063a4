package store

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

// note keeps what was left out: a folder that govc saved while the inventory changed has references to what is not in it.
func (l *Loaded) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// Notes tell what the folder says of things that are not in it, and that was left out for this; those of references are
// there after [Loaded.Install].
func (l *Loaded) Notes() []string {
	seen := make(map[string]bool)
	return slices.DeleteFunc(slices.Clone(l.notes), func(n string) bool {
		was := seen[n]
		seen[n] = true
		return was
	})
}

// Name is the vCenter's name: as it was saved, else the name of the folder; a DNS label.
func (l *Loaded) Name() string {
	if name := label(l.manifest.VCenter); name != "" {
		return name
	}
	if name := label(strings.TrimPrefix(baseName(l.dir), "vcsim-")); name != "" {
		return name
	}
	return "vcenter"
}

// label makes a DNS label of a name.
func label(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if b.Len() > 0 {
			b.WriteByte('-')
		}
	}
	text := b.String()
	return strings.TrimRight(text[:min(len(text), 63)], "-")
}

// InstanceUUID is the vCenter's own, as it was saved.
func (l *Loaded) InstanceUUID() string { return l.content.About.InstanceUuid }

// Version is the release of the vCenter that was saved ("8.0.3").
func (l *Loaded) Version() string { return l.content.About.Version }

// Tags are the categories, tags and associations, for rest.Handler.Restore. A folder of govc's has none.
func (l *Loaded) Tags() rest.Snapshot { return l.tags }

// errNotDir is told of a folder that is none.
var errNotDir = errors.New("is no folder")

// isMissing tells that a file is not there.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
