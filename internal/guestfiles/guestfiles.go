package guestfiles

// Files are the differences of /etc.
type Files struct {
	// Host is an empty directory, where the machine's own /etc is mounted.
	Host string `json:"host"`
	// Links are paths below /etc, relative to it, with what they link to.
	Links map[string]string `json:"links"`
	// Hosts are lines that /etc/hosts has before its own.
	Hosts []string `json:"hosts"`
}
