package mutants

// connections breaks what is between the provider and its vCenters.
func connections() []Mutant {
	return []Mutant{
		{
			Name:   "credentials-read-once",
			Breaks: "a password that is changed in the Secret is never seen",
			File:   "pkg/provider/secrets.go",
			Old:    "\t} else {\n\t\th.data = secret.Data\n",
			New:    "\t} else if h.data == nil {\n\t\th.data = secret.Data\n",
			Caught: []Caught{{"credentials/password-rotated", `expect node worker-(east|west)-1: (ready True, initialized|taints)`}},
		},
		{
			Name:   "keys-in-one-case",
			Breaks: "keys of the Secret count in lower case alone",
			File:   "pkg/provider/config/secret.go",
			Old:    "strings.EqualFold(key[n:], kind.suffix)",
			New:    "key[n:] == kind.suffix",
			Caught: []Caught{{"credentials/secret-wrong-case", `expect node worker-eu-1: taints .*/shutdown`}},
		},
		{
			Name:   "no-logout",
			Breaks: "sessions are left behind when the process ends",
			File:   "pkg/provider/vcenter/client.go",
			Old:    "\tif s != nil {\n\t\ts.logout(ctx)\n\t}\n\tboth.Wait()\n",
			New:    "\t_ = s\n\tboth.Wait()\n",
			Caught: []Caught{{"credentials/few-logins", `expect calls .*Logout`}},
		},
		{
			Name:   "watch-ends-with-its-session",
			Breaks: "a watch that was lost is not begun again on the next session",
			File:   "pkg/provider/vcenter/watch.go",
			Old:    "\t\th.Lost(err)\n",
			New:    "\t\th.Lost(err)\n\t\t<-ctx.Done()\n",
			Caught: []Caught{
				{"multi-vcenter/both-restart", `expect node .*taints .*/shutdown`},
				{"outages/session-expired", `expect node .*taints .*/shutdown`},
			},
		},
	}
}
