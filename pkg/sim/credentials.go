package sim

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/url"
	"sync/atomic"

	"github.com/vmware/govmomi/vim25/types"
)

// credentials are the accounts of one vCenter: the user's, whose password may change, and one that never leaves the
// process, for what vcsim's own endpoints ask each other.
type credentials struct {
	user     string
	password atomic.Pointer[string]
	inside   *url.Userinfo
}

func newCredentials(vcenter string) *credentials {
	c := &credentials{
		user:   "administrator@" + vcenter + ".local",
		inside: url.UserPassword("inside-"+rand.Text(), rand.Text()),
	}
	c.set(rand.Text())
	return c
}

func (c *credentials) set(password string) { c.password.Store(&password) }

// valid is asked by vcsim for every login, SOAP and REST.
func (c *credentials) valid(l *types.Login) bool {
	inside, _ := c.inside.Password()
	return match(l, c.user, *c.password.Load()) || match(l, c.inside.Username(), inside)
}

func match(l *types.Login, user, password string) bool {
	return subtle.ConstantTimeCompare([]byte(l.UserName), []byte(user))&
		subtle.ConstantTimeCompare([]byte(l.Password), []byte(password)) == 1
}

// errNoPassword refuses what vCenter refuses.
var errNoPassword = errors.New("password is empty")
