package ccm

import (
	"net"
	"testing"
)

func listen(t *testing.T, socket string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
}
