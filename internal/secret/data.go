package secret

import (
	"slices"
	"strings"
)

// Longest is the length in bytes up to which the value of a Kubernetes Secret is known. What is longer is an archive,
// such as a Helm release, which stands in no text.
const Longest = 64 << 10

// Of returns the secrets in the data of a Kubernetes Secret by their keys: not the users, hosts and certificates that stand
// beside them.
func Of(data map[string][]byte) map[string]string {
	all := map[string]string{}
	for key, v := range data {
		if !public(key) && len(v) > 0 && len(v) <= Longest {
			all[key] = string(v)
		}
	}
	return all
}

// public reports whether what a Secret has under a key is none.
func public(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc([]string{
		"username", "user", "ca.crt", "tls.crt", "namespace", "server", "host", "thumbprint", "expiration", "description",
		"usage-bootstrap-authentication", "usage-bootstrap-signing", "auth-extra-groups", "token-id",
	}, func(end string) bool { return strings.HasSuffix(key, end) })
}
