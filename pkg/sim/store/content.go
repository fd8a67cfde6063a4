package store

import (
	"reflect"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Content is the service content to make the vCenter with (simulator.NewServiceInstance): as it was saved, with the
// managers that the vCenter did not have, and vcsim takes for granted.
func (l *Loaded) Content() types.ServiceContent {
	c := l.content
	to, from := reflect.ValueOf(&c).Elem(), reflect.ValueOf(simulator.VPX().ServiceContent)
	for i := range to.NumField() {
		if f := to.Field(i); f.Kind() == reflect.Pointer && f.IsNil() {
			f.Set(from.Field(i))
		}
	}
	if !strings.Contains(c.About.FullName, "simulated") {
		c.About.FullName += " (simulated)"
	}
	return c
}

// RootFolder is the root folder to make the vCenter with. Its children come with [Loaded.Install].
func (l *Loaded) RootFolder() mo.Folder {
	root := simulator.VPX().RootFolder
	root.Self, root.Name, root.ChildEntity = l.content.RootFolder, l.rootName, nil
	return root
}
