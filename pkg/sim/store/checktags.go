package store

import (
	"fmt"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

// checkTags checks that tags are of categories, and attached to what there is: an object that went while the vCenter was
// saved takes its tags along.
func (l *Loaded) checkTags(f *folder) {
	problem := func(what string, args ...any) {
		f.add(Problem{File: tagsName, What: fmt.Sprintf(what, args...), Try: tryAgain})
	}
	categories := make(map[string]bool)
	for _, c := range l.tags.Categories {
		if categories[c.ID] {
			problem("category %s is in it twice", c.ID)
		}
		categories[c.ID] = true
	}
	tags := make(map[string]bool)
	for _, t := range l.tags.Tags {
		if !categories[t.CategoryID] {
			problem("tag %q is of category %s, which is not in it", t.Name, t.CategoryID)
		}
		if tags[t.ID] {
			problem("tag %s is in it twice", t.ID)
		}
		tags[t.ID] = true
	}
	l.tags.Associations = slices.DeleteFunc(l.tags.Associations, func(a rest.Association) bool {
		if !tags[a.TagID] {
			problem("tag %s is attached to %s %s, and is not in it", a.TagID, a.Object.Type, a.Object.Value)
			return true
		}
		if l.objects[a.Object] == nil {
			l.note("tag %s is attached to %s %s, which is not in the folder", a.TagID, a.Object.Type, a.Object.Value)
			return true
		}
		return false
	})
}
