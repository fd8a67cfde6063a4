package store

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
)

// scrubber replaces texts. What is replaced by what follows from the order in which things are met, which is the same for
// the same inventory.
type scrubber struct {
	words   map[string]string // names of hosts, whole and without domain; lower case
	bare    map[string]string // names that mean something else, too ("green"): replaced where a host's name is meant
	domains map[string]string
	people  map[string]string // users, as "user@domain"; lower case
	nets    map[netip.Prefix]netip.Prefix
	hosts   map[netip.Addr]netip.Addr // IPv6
	v4, v6  *regexp.Regexp
	account *regexp.Regexp
}

func (s *saver) newScrubber(a *access) (*scrubber, error) {
	out := &scrubber{
		words: make(map[string]string), bare: make(map[string]string), domains: make(map[string]string), people: make(map[string]string),
		nets: make(map[netip.Prefix]netip.Prefix), hosts: make(map[netip.Addr]netip.Addr),
		v4:      regexp.MustCompile(`\b[0-9]{1,3}(\.[0-9]{1,3}){3}\b`),
		v6:      regexp.MustCompile(`[0-9A-Fa-f]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*`),
		account: regexp.MustCompile(`[\w.-]+\\[\w.-]+|[\w.+-]+@[\w-][\w.-]*`),
	}
	v, err := view.NewManager(s.client).CreateContainerView(s.ctx, s.client.ServiceContent.RootFolder, nil, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Destroy(s.ctx) }() // it ends with the session
	var hosts []mo.HostSystem
	if err := s.retrieve(v, "HostSystem", []string{"name"}, &hosts); err != nil {
		return nil, err
	}
	var vms []mo.VirtualMachine
	if err := s.retrieve(v, "VirtualMachine", []string{"guest.hostName", "summary.guest.hostName"}, &vms); err != nil {
		return nil, err
	}
	slices.SortFunc(hosts, func(a, b mo.HostSystem) int { return compareRefs(a.Self, b.Self) })
	slices.SortFunc(vms, func(a, b mo.VirtualMachine) int { return compareRefs(a.Self, b.Self) })
	for i := range hosts {
		out.host("host", hosts[i].Name)
	}
	for i := range vms {
		if g := vms[i].Guest; g != nil {
			out.host("guest", g.HostName)
		}
		if g := vms[i].Summary.Guest; g != nil {
			out.host("guest", g.HostName)
		}
	}
	out.host("vcenter", s.client.URL().Hostname())
	out.host("vcenter", s.options.Name)
	for _, u := range a.Users {
		out.person(u.Name)
	}
	for _, p := range a.Permissions {
		out.person(p.Principal)
	}
	users, err := s.sessionUsers()
	for _, u := range users {
		out.person(u)
	}
	return out, err
}

// sessionUsers are those that are logged in: events and settings name them.
func (s *saver) sessionUsers() ([]string, error) {
	if s.client.ServiceContent.SessionManager == nil {
		return nil, nil
	}
	var m mo.SessionManager
	err := property.DefaultCollector(s.client).RetrieveOne(s.ctx, *s.client.ServiceContent.SessionManager, []string{"currentSession"}, &m)
	if m.CurrentSession == nil {
		return nil, err
	}
	return []string{m.CurrentSession.UserName}, err
}

const madeUpDomain = "example.test"

// host gives a host a name.
func (s *scrubber) host(kind, name string) {
	name = strings.ToLower(name)
	if _, err := netip.ParseAddr(name); err == nil || name == "" || name == "localhost" || s.words[name] != "" {
		return
	}
	short, domain, _ := strings.Cut(name, ".")
	known := s.words
	if !strings.ContainsAny(short, "0123456789-") {
		known = s.bare
	}
	as := known[short]
	if as == "" {
		as = fmt.Sprintf("%s-%d", kind, len(s.words)+len(s.bare)+1)
		known[short] = as
	}
	if domain != "" {
		s.words[name] = as + "." + madeUpDomain
		s.domains[domain] = madeUpDomain
	}
}

// person gives a user a name, but for those that every vCenter has.
func (s *scrubber) person(name string) {
	key, user, domain := principal(name)
	switch {
	case user == "", user == "administrator", user == "administrators", user == "root", user == "everyone", s.people[key] != "":
		return
	case domain != "vsphere.local" && domain != "localos" && domain != "":
		s.domains[domain] = madeUpDomain
	}
	s.people[key] = fmt.Sprintf("user-%d", len(s.people)+1)
}

// principal takes a name apart: "DOMAIN\user" or "user@domain".
func principal(name string) (key, user, domain string) {
	name = strings.ToLower(name)
	if d, u, ok := strings.Cut(name, `\`); ok {
		user, domain = u, d
	} else if i := strings.LastIndexByte(name, '@'); i >= 0 {
		user, domain = name[:i], name[i+1:]
	} else {
		user = name
	}
	return user + "@" + domain, user, domain
}
