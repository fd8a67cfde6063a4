package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Credentials are the credentials for a vCenter.
type Credentials struct {
	User, Password string
	// SessionManagerURL, if set, is queried for a session to share instead of a login, with SessionManagerToken, or if that
	// is empty with the token of the pod's ServiceAccount.
	SessionManagerURL, SessionManagerToken string
}

// Secret is the parsed data of a Secret, or of a directory with the same keys. The keys are upstream's:
//
//	SERVER.username, SERVER.password
//	SERVER.vc-session-manager-url, SERVER.vc-session-manager-token
//	server_ID, username_ID, password_ID   (a key cannot hold the colons of an IPv6 address)
//
// SERVER may also be the name of a vCenter's section, which upstream's provider does not read: with several connections to one
// server, each can have an account in the same Secret.
//
// Servers are compared with those in the configuration ignoring case. One newline at the end of a value is ignored, because
// editors add it. A Secret is immutable.
type Secret struct {
	servers  []secretServer // in the order of their keys
	problems []Problem
}

// secretServer is the data about one server; key is its first key, lacking a missing numbered key.
type secretServer struct {
	name, key, lacking string
	Credentials
}

// check returns the missing keys for a server, as named in the configuration or the Secret.
func (c secretServer) check(server string) error {
	switch {
	case c.lacking != "":
		return fmt.Errorf("key %s is missing or empty", c.lacking)
	case c.SessionManagerURL == "" && (c.User == "" || c.Password == ""):
		return fmt.Errorf("keys %s.username and %s.password are needed", server, server)
	}
	return nil
}

// ErrNoCredentials is wrapped by the error of [Secret.For] if there is no data about a server.
var ErrNoCredentials = errors.New("no credentials")

// ParseSecret parses the data of a Secret; name identifies it in problems. An invalid key does not affect other servers.
func ParseSecret(name string, data map[string][]byte) *Secret {
	s := &Secret{}
	note := func(key, format string, args ...any) {
		s.problems = append(s.problems, Problem{File: name, Path: key, Message: fmt.Sprintf(format, args...), Warning: true})
	}
	used := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		value := trimNewline(data[key])
		if id, ok := cutPrefixFold(key, "server_"); ok {
			used[key] = true
			s.numbered(data, key, id, value, used, note)
			continue
		}
		server, into := s.dotted(key)
		switch {
		case into == nil:
			continue
		case server == "":
			used[key] = true
			note(key, "names no server")
		case *into != "":
			used[key] = true
			note(key, "is ignored: another key sets the same value")
		default:
			used[key] = true
			*into = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if used[key] {
			continue
		}
		if id, ok := cutPrefixFold(key, "username_"); ok {
			note(key, "has no effect without server_%s", id)
		} else if id, ok := cutPrefixFold(key, "password_"); ok {
			note(key, "has no effect without server_%s", id)
		} else {
			note(key, "unknown key")
		}
	}
	for _, c := range s.servers {
		if err := c.check(c.name); err != nil {
			note(c.key, "%v", err)
		}
		for _, v := range []struct{ part, value string }{{"username", c.User}, {"password", c.Password}} {
			if found := controlCharacter(v.value, true); found != "" && !isPEM(v.value) {
				note(c.key, "the %s has %s", v.part, found)
			}
			if mark := bothEnds(v.value); mark != 0 {
				note(c.key, "the %s has %c at both ends as a part of the value", v.part, mark)
			}
		}
	}
	return s
}

// dotted returns the destination of the value of a key like SERVER.username; nil for any other key.
func (s *Secret) dotted(key string) (server string, into *string) {
	for _, kind := range []struct {
		suffix string
		into   func(*secretServer) *string
	}{
		{".username", func(c *secretServer) *string { return &c.User }},
		{".password", func(c *secretServer) *string { return &c.Password }},
		{".vc-session-manager-url", func(c *secretServer) *string { return &c.SessionManagerURL }},
		{".vc-session-manager-token", func(c *secretServer) *string { return &c.SessionManagerToken }},
	} {
		if n := len(key) - len(kind.suffix); n >= 0 && strings.EqualFold(key[n:], kind.suffix) {
			if n == 0 {
				return "", new(string)
			}
			return key[:n], kind.into(s.server(key[:n], key[:n]+kind.suffix))
		}
	}
	return "", nil
}

// server returns the data about a server, by any spelling of its name.
func (s *Secret) server(name, key string) *secretServer {
	for i := range s.servers {
		if sameHost(s.servers[i].name, name) {
			return &s.servers[i]
		}
	}
	s.servers = append(s.servers, secretServer{name: name, key: key})
	return &s.servers[len(s.servers)-1]
}

// numbered reads the keys with one id.
func (s *Secret) numbered(data map[string][]byte, key, id, server string, used map[string]bool, note func(key, format string, args ...any)) {
	if server == "" || id == "" {
		note(key, "names no server")
		return
	}
	c := s.server(server, key)
	for _, kind := range []struct {
		prefix string
		into   *string
	}{{"username_", &c.User}, {"password_", &c.Password}} {
		for _, k := range slices.Sorted(maps.Keys(data)) {
			if rest, ok := cutPrefixFold(k, kind.prefix); ok && strings.EqualFold(rest, id) {
				used[k] = true
				if *kind.into == "" {
					*kind.into = trimNewline(data[k])
				}
			}
		}
		if *kind.into == "" && c.lacking == "" {
			c.lacking = kind.prefix + id
		}
	}
}

// For returns the credentials of a connection. names are the keys that are looked for, in order: usually the name of the
// vCenter's section and its server, both as in the configuration ([VCenter.SecretKeys]). So one Secret can hold several accounts
// of one vCenter. The error lists the missing keys.
func (s *Secret) For(names ...string) (Credentials, error) {
	for _, name := range names {
		for _, c := range s.servers {
			if sameHost(c.name, name) {
				if err := c.check(name); err != nil {
					return Credentials{}, err
				}
				return c.Credentials, nil
			}
		}
	}
	server := names[len(names)-1]
	return Credentials{}, fmt.Errorf("%w: keys %s.username and %s.password are needed", ErrNoCredentials, server, server)
}

// SecretKeys returns the names under which a Secret may have the connection's credentials, for [Secret.For].
func (vc VCenter) SecretKeys() []string { return []string{vc.Tenant, vc.Server} }

// Problems returns the problems of single keys; all are warnings.
func (s *Secret) Problems() []Problem { return slices.Clone(s.problems) }

func trimNewline(value []byte) string {
	return strings.TrimSuffix(strings.TrimSuffix(string(value), "\n"), "\r")
}

func cutPrefixFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}

// Account returns the account in the data of a Secret with the keys username and password, as that of [NSX] has them. The error
// lists the missing keys.
func Account(data map[string][]byte) (user, password string, err error) {
	user, password = trimNewline(data["username"]), trimNewline(data["password"])
	if user == "" || password == "" {
		return "", "", fmt.Errorf("%w: keys username and password are needed", ErrNoCredentials)
	}
	return user, password, nil
}
