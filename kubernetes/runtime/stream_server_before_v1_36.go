//go:build before_v1_36

package runtime

import (
	"net/url"

	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/kubelet/pkg/cri/streaming"
)

type (
	streamServer = streaming.Server
	terminalSize = remotecommand.TerminalSize
)

func newStreamServer(base *url.URL, r streaming.Runtime) (streamServer, error) {
	config := streaming.DefaultConfig
	config.BaseURL = base
	return streaming.NewServer(config, r)
}
