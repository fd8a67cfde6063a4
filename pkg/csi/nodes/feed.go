package nodes

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"

// feed carries a watch into the picture of its vCenter.
type feed struct{ *member }

var _ vcenter.EventHandler = feed{}

// Update implements [vcenter.Handler].
func (f feed) Update(batch []vcenter.Update) {
	if f.picture.take(batch) && f.inSync() {
		f.changed()
	}
}

// Synced implements [vcenter.Handler].
func (f feed) Synced() {
	f.setSync(true, nil)
	f.changed()
}

// Lost implements [vcenter.Handler].
func (f feed) Lost(err error) {
	f.tags.follow(false)
	if f.setSync(false, err) {
		f.changed()
	}
}

// Following implements [vcenter.EventHandler].
func (f feed) Following(ok bool) { f.tags.follow(ok) }

// Happened implements [vcenter.EventHandler].
func (f feed) Happened() { f.tags.event() }
