package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Credentials are what a vCenter is asked to accept.
type Credentials struct {
	User, Password string
	// SessionManagerURL, where it is set, is asked for a session to share in place of a login, with SessionManagerToken
	// or, when that is empty, the token of the pod's ServiceAccount.
	SessionManagerURL, SessionManagerToken string
}

// Secret is the data of a Secret, or of a directory like one, understood. The keys are upstream's:
//
//	SERVER.username, SERVER.password
//	SERVER.vc-session-manager-url, SERVER.vc-session-manager-token
//	server_ID, username_ID, password_ID   (a key cannot hold the colons of an IPv6 address)
//
// A server is matched with the one in the configuration whatever their case. One newline at the end of a value is an
// editor's and counts for nothing. A Secret is not changed once it is made.
type Secret struct {
	servers  []secretServer // in the order of their keys
	problems []Problem
}

// secretServer is what is said of one server, first at a key; lacking is the numbered key that is missing.
type secretServer struct {
	name, key, lacking string
	Credentials
}

// check says what keys are needed for a server, as the configuration or the Secret names it.
func (c secretServer) check(server string) error {
	switch {
	case c.lacking != "":
		return fmt.Errorf("key %s is missing or empty", c.lacking)
	case c.SessionManagerURL == "" && (c.User == "" || c.Password == ""):
		return fmt.Errorf("keys %s.username and %s.password are needed", server, server)
	}
	return nil
}

// ErrNoCredentials is in the error of [Secret.For] when there is nothing about a server.
var ErrNoCredentials = errors.New("no credentials")

// ParseSecret understands the data of a Secret; name stands for it in problems. A key that is wrong does no harm to
// the servers that it does not concern.
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
			note(key, "is told by another key too, which counts")
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
	}
	return s
}

// dotted returns where the value of a key like SERVER.username goes, nil when the key is none.
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

// server returns what is known of a server, by any spelling of its name.
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

// For returns what there is for a server as the configuration names it. The error says which keys are needed.
func (s *Secret) For(server string) (Credentials, error) {
	for _, c := range s.servers {
		if sameHost(c.name, server) {
			if err := c.check(server); err != nil {
				return Credentials{}, err
			}
			return c.Credentials, nil
		}
	}
	return Credentials{}, fmt.Errorf("%w: keys %s.username and %s.password are needed", ErrNoCredentials, server, server)
}

// Problems returns what is wrong with single keys; all are warnings.
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
