package kind

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// inotifyFile is Linux's limit of inotify instances for one user, root among them: all nodes' programs are one user's. Many
// systems have 128, and a cluster of six nodes comes near.
const inotifyFile = "/proc/sys/fs/inotify/max_user_instances"

// Instances as counted: 25 for systemd, containerd, the kubelet and the control plane; 15 for a worker with a few pods; and
// what the machine's own programs have.
const inotifyHead, inotifyWorker, inotifyOthers = 25, 15, 20

const inotifyTry = "sudo sysctl fs.inotify.max_user_instances=1024"

// inotify says what to do when the machine's limit is too low for the nodes, "" when it is not or cannot be read.
func inotify(file string, nodes int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	need := inotifyOthers + inotifyHead + inotifyWorker*(nodes-1)
	if err != nil || limit >= need {
		return ""
	}
	return fmt.Sprintf("%d nodes want some %d inotify instances, and this machine lets root have %d: nodes may fail to start; try %s", nodes, need, limit, inotifyTry)
}
