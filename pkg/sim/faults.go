package sim

import (
	"net/http"
	"strings"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// What the rules of the gate need to know of the vCenter behind it.

const restSessionHeader = "vmware-api-session-id"

// gateHooks fills in the options of a gate that only a simulator can.
func (v *VCenter) gateHooks(o gate.Options) gate.Options {
	o.Identify, o.Name, o.FailTask, o.DropSession = v.identify, v.nameOf, v.failTask, v.dropSession
	return o
}

// identify tells whose call it is. Sessions that are over are none: clients show their cookies when they log in again.
func (v *VCenter) identify(r *http.Request) (session, user string) {
	secret, name := "", soap.SessionCookieName
	if strings.HasPrefix(r.URL.Path, "/rest/") || strings.HasPrefix(r.URL.Path, "/api/") {
		secret, name = r.Header.Get(restSessionHeader), restSessionHeader
	}
	if secret == "" {
		c, err := r.Cookie(name)
		if err != nil {
			return "", ""
		}
		secret = c.Value
	}
	session, user, _ = v.service.access.Identify(secret, r.UserAgent())
	return session, user
}

// nameOf reads the name of an object. It takes no lock, which the object's holder may keep for as long as a task takes:
// a name that is being changed is read as the old one or the new one from the index of names.
func (v *VCenter) nameOf(ref types.ManagedObjectReference) string {
	return v.truth.Name(ref)
}

func (v *VCenter) dropSession(key string) { v.service.access.EndSession(key) }
