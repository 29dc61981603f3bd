//go:build !linux

package worker

// restrict can do nothing here: the parent watches memory and time.
func restrict() (missing []string, err error) {
	return []string{"rlimit", "no_new_privs", "landlock", "seccomp"}, nil
}
