package store

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// scrub returns a copy with every text replaced.
func scrub[T any](s *scrubber, v T) T {
	out := reflect.New(reflect.TypeFor[T]()).Elem()
	out.Set(s.copy(reflect.ValueOf(&v).Elem(), ""))
	return out.Interface().(T)
}

// copy copies a value; field is the name of its field. It replaces only plain strings: strings of another type are enums.
func (s *scrubber) copy(v reflect.Value, field string) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			return reflect.ValueOf(s.text(field, v.String()))
		}
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type()).Elem()
		inner := s.copy(v.Elem(), field)
		if v.Kind() == reflect.Pointer {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(inner)
			inner = p
		}
		out.Set(inner)
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		if secret(field) {
			return reflect.Zero(v.Type())
		}
		out := reflect.MakeSlice(v.Type(), 0, v.Len())
		for i := range v.Len() {
			if !hidden(v.Index(i)) {
				out = reflect.Append(out, s.copy(v.Index(i), field))
			}
		}
		return out
	case reflect.Struct:
		return s.fields(v)
	}
	return v
}

func (s *scrubber) fields(v reflect.Value) reflect.Value {
	switch v.Type() {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[vc.Ref]():
		return v
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	name := ""
	if p, ok := reflect.TypeAssert[types.DynamicProperty](v); ok {
		name = p.Name[strings.LastIndexByte(p.Name, '.')+1:]
	}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			within := f.Name
			if name != "" {
				if within == "Name" {
					continue // of the property
				}
				within = name
			}
			out.Field(i).Set(s.copy(v.Field(i), within))
		}
	}
	return out
}

// hidden reports whether an element of a list is left out: variables for cloud-init and similar contain addresses and passwords,
// encoded.
func hidden(v reflect.Value) bool {
	o, ok := reflect.TypeAssert[types.BaseOptionValue](v)
	return ok && strings.HasPrefix(strings.ToLower(o.GetOptionValue().Key), "guestinfo.")
}

// secret reports whether a field is emptied.
func secret(field string) bool {
	switch strings.ToLower(field) {
	case "annotation", "certificate", "sslthumbprint", "sslcertificate", "thumbprint", "licensekey", "editionkey", "encryptionkey", "pemdata":
		return true
	}
	return false
}

// scrubber replaces texts. The replacements follow from the order of occurrence, which is the same for the same inventory.
type scrubber struct {
	words   map[string]string // names of hosts, full and short; lower case
	bare    map[string]string // names that are also words ("green"): replaced where a host's name is expected
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

// sessionUsers returns the logged-in users: events and settings name them.
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

// host chooses a replacement for a host's name.
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

// person chooses a replacement for a user's name, unless every vCenter has the user.
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

// principal parses a name: "DOMAIN\user" or "user@domain".
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

// text returns the replacement of a text in a field with that name.
func (s *scrubber) text(field, text string) string {
	if text == "" {
		return ""
	}
	lower := strings.ToLower(field)
	switch {
	case secret(field):
		return ""
	case strings.Contains(lower, "version"), strings.Contains(lower, "build"):
		return text // it looks like an address
	}
	if as, ok := s.user(text); ok {
		return as
	}
	if as, ok := s.bare[strings.ToLower(text)]; ok && lower == "hostname" {
		return as
	}
	text = s.account.ReplaceAllStringFunc(text, func(name string) string {
		if as, ok := s.user(name); ok {
			return as
		}
		return name
	})
	text = s.v4.ReplaceAllStringFunc(text, s.address)
	if strings.Count(text, ":") > 1 {
		text = s.v6.ReplaceAllStringFunc(text, s.address)
	}
	return s.names(text)
}

// user replaces the name of a user. A name without a domain is treated like any other.
func (s *scrubber) user(text string) (string, bool) {
	key, user, domain := principal(text)
	as, ok := s.people[key]
	if !ok || user == "" {
		return "", false
	}
	shown := domain
	if to, ok := s.domains[domain]; ok {
		shown = to
	}
	switch {
	case domain == "":
		return as, true
	case strings.Contains(text, `\`):
		return strings.ToUpper(shown) + `\` + as, true
	}
	return as + "@" + shown, true
}

// names replaces host names that are delimited by other characters than those of names.
func (s *scrubber) names(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		n := strings.IndexFunc(text, func(r rune) bool { return !nameRune(r) })
		if n < 0 {
			n = len(text)
		}
		if n == 0 {
			n = strings.IndexFunc(text, nameRune)
			if n < 0 {
				n = len(text)
			}
			b.WriteString(text[:n])
		} else {
			b.WriteString(s.name(text[:n]))
		}
		text = text[n:]
	}
	return b.String()
}

func nameRune(r rune) bool {
	return r == '.' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// name replaces a known name, one with a suffix ("web-1.vmdk"), or one in a known domain.
func (s *scrubber) name(name string) string {
	lower := strings.ToLower(name)
	if as, ok := s.words[lower]; ok {
		return as
	}
	if as, ok := s.domains[lower]; ok && strings.Contains(lower, ".") {
		return as
	}
	for i := len(lower) - 1; i > 0; i-- {
		if lower[i] == '.' {
			if as, ok := s.words[lower[:i]]; ok {
				return as + name[i:]
			}
		}
	}
	for i := range len(lower) {
		if lower[i] == '.' {
			if as, ok := s.domains[lower[i+1:]]; ok {
				return name[:i+1] + as
			}
		}
	}
	return name
}

// address replaces an IP address. IPv4 addresses of a /24 stay in one /24 with the same last number, IPv6 addresses of a /64 in
// one /64. Masks and reserved addresses stay.
func (s *scrubber) address(text string) string {
	a, err := netip.ParseAddr(text)
	if err != nil || a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() || a.Zone() != "" {
		return text
	}
	if a.Is4() {
		if b := a.As4(); b[0] == 255 || b[0] == 0 {
			return text
		}
		net := netip.PrefixFrom(a, 24).Masked()
		to, ok := s.nets[net]
		if !ok {
			n := len(s.nets)
			to = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n >> 8), byte(n), 0}), 24)
			s.nets[net] = to
		}
		b := to.Addr().As4()
		b[3] = a.As4()[3]
		return netip.AddrFrom4(b).String()
	}
	to, ok := s.hosts[a]
	if !ok {
		net := netip.PrefixFrom(a, 64).Masked()
		in, ok := s.nets[net]
		if !ok {
			b := [16]byte{0xfd}
			binary.BigEndian.PutUint16(b[6:], uint16(len(s.nets)))
			in = netip.PrefixFrom(netip.AddrFrom16(b), 64)
			s.nets[net] = in
		}
		b := in.Addr().As16()
		binary.BigEndian.PutUint64(b[8:], uint64(len(s.hosts)+1))
		to = netip.AddrFrom16(b)
		s.hosts[a] = to
	}
	return to.String()
}
